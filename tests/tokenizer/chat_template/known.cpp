#include "l3/tokenizer/chat_template/known.hpp"
#include "support/chat_templates.hpp"
#include <doctest/doctest.h>

using namespace l3;
using tokenizer::ChatFormat;
using tokenizer::recognise_chat_template;

namespace {
/// The template with one part exchanged for another.
std::string with(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}
}  // namespace

TEST_CASE("known chat templates are recognised with what they choose") {
    const auto plain = recognise_chat_template(support::chatml_template);
    REQUIRE(plain);
    CHECK(plain->kind == ChatFormat::chatml);
    CHECK(plain->default_system.empty());
    CHECK_FALSE(plain->start_token);
    const auto system = recognise_chat_template(support::chatml_default_template);
    REQUIRE(system);
    CHECK(system->kind == ChatFormat::chatml);
    CHECK(system->default_system == "You are an agreeable test.");
    const auto start = recognise_chat_template("{{ bos_token }}" + std::string(support::chatml_template));
    REQUIRE(start);
    CHECK(start->start_token);

    CHECK(recognise_chat_template(support::llama3_template)->kind == ChatFormat::llama3);
    CHECK(recognise_chat_template(support::llama3_1_template)->kind == ChatFormat::llama3_1);
    CHECK_FALSE(recognise_chat_template(support::llama3_1_template)->today);
    const auto dated = recognise_chat_template(
        with(support::llama3_1_template, "{%- set date_string = \"26 Jul 2024\" %}",
             "{%- if strftime_now is defined %}{%- set date_string = strftime_now(\"%d %b %Y\") %}{%- endif %}"));
    REQUIRE(dated);
    CHECK(dated->today);
    CHECK(recognise_chat_template(support::llama2_template)->kind == ChatFormat::llama2);
    CHECK_FALSE(recognise_chat_template(support::llama2_template)->trims_system);
}

TEST_CASE("a template that differs in anything it prints is not taken for a known one") {
    const std::string chatml = support::chatml_template, llama3 = support::llama3_template,
                      llama3_1 = support::llama3_1_template, llama2 = support::llama2_template;
    CHECK_FALSE(recognise_chat_template(with(chatml, "'<|im_end|>' + '\\n'", "'<|im_end|>'")));
    CHECK_FALSE(recognise_chat_template(with(chatml, "message['content']", "message['content'] | trim")));
    CHECK_FALSE(recognise_chat_template(with(chatml, "assistant\\n", "assistant\\n<think>\\n")));
    CHECK_FALSE(recognise_chat_template(chatml + "x"));
    CHECK_FALSE(recognise_chat_template(with(support::chatml_default_template, "You are", "{{ who }}")));
    CHECK_FALSE(recognise_chat_template(with(llama3, " | trim", "")));
    CHECK_FALSE(recognise_chat_template(with(llama3, "loop.index0 == 0", "loop.index0 == 1")));
    CHECK_FALSE(recognise_chat_template(with(llama3_1, "set system_message = \"\"", "set system_message = \"Hi\"")));
    CHECK_FALSE(recognise_chat_template(with(llama3_1, "December 2023", "December 2024")));
    CHECK_FALSE(recognise_chat_template(with(llama2, "[/INST]", "[/INST] ")));
    CHECK_FALSE(recognise_chat_template("{% foo %}"));
    CHECK_FALSE(recognise_chat_template("{{"));
    CHECK_FALSE(recognise_chat_template(""));
}
