// The host library inside a CUDA translation unit.
#include <l3/l3.hpp>

__global__ void widen(float* out, const l3::bf16* in) { out[threadIdx.x] = float(in[threadIdx.x]); }

l3::Tensor<l3::bf16, l3::CPU> zeros() { return l3::Tensor<l3::bf16, l3::CPU>({2, 3}); }
