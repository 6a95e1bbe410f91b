// The smallest program: a model answers. Start reading here.
#include <l3/l3.hpp>
#include <iostream>
int main() {
    l3::Model<l3::bf16, l3::CPU> model("Llama-3.2-1B-Instruct");  // a directory, a .gguf or a llama2.c .bin
    l3::Chat chat(model);
    for (std::string_view piece : chat.reply("Hello")) std::cout << piece << std::flush;
}
