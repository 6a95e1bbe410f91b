// Two translation units with the whole library in each: they link, and define nothing outside of l3.
#include <l3/l3.hpp>

void use_l3_once(l3::Model<l3::bf16, l3::CPU> model) {
    l3::Chat chat(model);
    for ([[maybe_unused]] std::string_view piece : chat.reply("Hello")) {}
}
