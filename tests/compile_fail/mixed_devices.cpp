// expected: CUDA>
#include <l3/l3.hpp>
void add(l3::Context<l3::CPU>& ctx, l3::TensorView<float, l3::CPU> x, l3::TensorView<const l3::bf16, l3::CPU> a,
         l3::TensorView<const l3::bf16, l3::CUDA> W) {
    l3::ops::linear_add<l3::bf16, l3::CPU>(ctx, x, a, W);
}
int main() {}
