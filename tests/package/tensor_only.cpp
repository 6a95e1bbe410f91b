// The tensor level alone: nothing of JSON, PCRE2 or threads on the command line.
#include <iostream>
#include <l3/tensor/tensor.hpp>

int main() {
    const l3::Tensor<l3::bf16, l3::CPU> zeros({2, 3});
    std::cout << zeros.numel() << " elements\n";
    return zeros.numel() == 6 ? 0 : 1;
}
