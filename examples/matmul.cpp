// Multiplies two bf16 matrices with the tensor level alone, which needs xsimd and nothing else (target l3::tensor).
#include <l3/ops/cpu/linear.hpp>
#include <l3/tensor/tensor.hpp>
#include <iostream>
using namespace l3;

int main() {
    Tensor<bf16, CPU> a({2, 64}), W({3, 64});                                          // a [M, K], W [N, K]
    for (Index i = 0; i < a.numel(); ++i) a.data()[i] = bf16(float(i % 7));
    for (Index i = 0; i < W.numel(); ++i) W.data()[i] = bf16(float(i % 5) / 4);
    Tensor<f32, CPU> y({2, 3});                                                        // y [M, N]
    Context<CPU> ctx;
    ops::linear<bf16, CPU>(ctx, y, a, W);                                              // y = a * W^T
    for (Index m = 0; m < y.rows(); ++m)
        for (Index n = 0; n < y.cols(); ++n) std::cout << y.row(m)[n] << (n + 1 < y.cols() ? ' ' : '\n');
}
