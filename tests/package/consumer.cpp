// What a stranger's first program does with l3: a tensor, and a model that is not there.
#include <iostream>
#include <l3/l3.hpp>

int main() {
    const l3::Tensor<l3::bf16, l3::CPU> zeros({2, 3});
    try {
        std::cout << l3::Tokenizer::load("no-such-model").vocab_size() << '\n';
    } catch (const l3::Error& error) {
        std::cout << "l3 " << l3::version << ", " << zeros.numel() << " elements: " << error.what() << '\n';
        return 0;
    }
    return 1;
}
