#include <l3/l3.hpp>

void use_l3_once(l3::Model<l3::bf16, l3::CPU> model);

void use_l3_again(l3::Model<l3::bf16, l3::CPU> model) {
    l3::Chat chat(model);
    for ([[maybe_unused]] std::string_view piece : chat.reply("Hello")) {}
    use_l3_once(model);
}

int main(int argc, char** argv) {
    if (argc > 1) use_l3_again(l3::Model<l3::bf16, l3::CPU>(argv[1]));
}
