// expected: no silu_mul for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)
#include <l3/l3.hpp>
template struct l3::SiluMul<l3::bf16, l3::CUDA>;
int main() {}
