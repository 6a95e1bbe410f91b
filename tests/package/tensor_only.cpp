// The tensor level alone: a product of two matrices, with nothing of JSON or PCRE2.
#include <iostream>
#include <l3/ops/cpu/linear.hpp>
#include <l3/tensor/tensor.hpp>

int main() {
    l3::Context<l3::CPU> ctx;
    l3::Tensor<l3::bf16, l3::CPU> a({2, 8}), W({3, 8});
    l3::Tensor<float, l3::CPU> y({2, 3});
    for (int i = 0; i < 16; ++i) a.data()[i] = l3::bf16(1);
    for (int i = 0; i < 24; ++i) W.data()[i] = l3::bf16(float(i / 8));
    l3::ops::linear<l3::bf16, l3::CPU>(ctx, y, a, W);
    std::cout << y.row(1)[2] << '\n';
    return y.row(1)[2] == 16 ? 0 : 1;
}
