// expected: no models for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)
// errors: 1
#include <l3/l3.hpp>
int main() { l3::Model<l3::bf16, l3::CUDA> model("Llama-3.2-1B-Instruct"); }
