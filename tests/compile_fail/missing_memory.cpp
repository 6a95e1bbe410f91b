// expected: no memory for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)
#include <l3/l3.hpp>
l3::Tensor<l3::bf16, l3::CUDA> tensor({2, 3});
int main() {}
