#include "l3/tokenizer/chat_template.hpp"
#include "support/chat_templates.hpp"
#include "support/paths.hpp"
#include <doctest/doctest.h>
#include <nlohmann/json.hpp>
#include <sstream>

using namespace l3;

namespace {

std::string text(const std::vector<Segment>& segments) {
    std::string out;
    for (const Segment& segment : segments) out += segment.text;
    return out;
}

const std::vector<Message> talk = {{"system", "Be brief."}, {"user", " Hi\n"}, {"assistant", "Ho."}, {"user", "And?"}};

}  // namespace

TEST_CASE("ChatML keeps messages as they are and states the template's own system message") {
    const ChatTemplate plain = ChatTemplate::from_text(support::chatml_template, "", "<|im_end|>");
    CHECK(plain.name() == "chatml");
    CHECK(text(plain.render(talk, true)) ==
          "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n "
          "Hi\n<|im_end|>\n<|im_start|>assistant\nHo.<|im_end|>\n"
          "<|im_start|>user\nAnd?<|im_end|>\n<|im_start|>assistant\n");
    CHECK(text(plain.render({}, true)) == "<|im_start|>assistant\n");
    const ChatTemplate own = ChatTemplate::from_text(support::chatml_default_template, "", "<|im_end|>");
    CHECK(text(own.render(std::span(talk).subspan(3), false)) ==
          "<|im_start|>system\nYou are an agreeable test.<|im_end|>\n<|im_start|>user\nAnd?<|im_end|>\n");
    CHECK(text(own.render(talk, false)) == text(plain.render(talk, false)));
    CHECK(own.end_texts() == std::vector<std::string>{"<|im_end|>"});
}

TEST_CASE("acceptance C02: Llama 3 to the byte, messages trimmed") {
    const ChatTemplate t = ChatTemplate::from_text(support::llama3_template, "<|begin_of_text|>", "<|eot_id|>");
    CHECK(t.name() == "llama3");
    const std::vector<Message> two = {{"system", " S "}, {"user", "\tU\n\n"}};
    CHECK(text(t.render(two, true)) ==
          "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nS<|eot_id|><|start_header_id|>user<|end_"
          "header_id|>"
          "\n\nU<|eot_id|><|start_header_id|>assistant<|end_header_id|>\n\n");
    CHECK(t.end_texts() == std::vector<std::string>{"<|eot_id|>"});
}

TEST_CASE("acceptance C03: Llama 3.1 always has a dated system block, Llama 3 never") {
    ChatTemplate t = ChatTemplate::from_text(support::llama3_1_template, "<|begin_of_text|>", "<|eot_id|>");
    const std::vector<Message> one = {{"user", "U"}};
    CHECK(t.name() == "llama3.1");
    CHECK(t.date() == "26 Jul 2024");
    CHECK(text(t.render(one, true)) ==
          "<|begin_of_text|><|start_header_id|>system<|end_header_id|>\n\nCutting Knowledge Date: December 2023\n"
          "Today Date: 26 Jul 2024\n\n<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nU<|eot_id|>"
          "<|start_header_id|>assistant<|end_header_id|>\n\n");
    t.set_date("01 Feb 2030");
    CHECK(text(t.render(talk, false)).find("Today Date: 01 Feb 2030\n\nBe brief.<|eot_id|>") != std::string::npos);
    const ChatTemplate old = ChatTemplate::from_text(support::llama3_template, "<|begin_of_text|>", "<|eot_id|>");
    CHECK(text(old.render(one, true)).find("system") == std::string::npos);
    CHECK_THROWS_WITH_AS((void)t.render(std::vector<Message>{{"user", "U"}, {"tool", "1"}}, true),
                         "messages of role 'tool': tools are not known to l3", UnsupportedError);
    CHECK_THROWS_WITH_AS((void)t.render({}, true), "the chat format llama3.1 needs a message", ArgumentError);
}

TEST_CASE("Llama 2 wraps turns and wants them to alternate") {
    const ChatTemplate t = ChatTemplate::from_text(support::llama2_template, "<s>", "</s>");
    CHECK(t.name() == "llama2");
    CHECK(text(t.render(talk, true)) ==
          "<s>[INST] <<SYS>>\nBe brief.\n<</SYS>>\n\n Hi [/INST] Ho. </s><s>[INST] And? [/INST]");
    CHECK(t.end_texts() == std::vector<std::string>{"</s>"});
    CHECK_THROWS_WITH_AS(
        (void)t.render(std::vector<Message>{{"user", "a"}, {"user", "b"}}, true),
        "Conversation roles must alternate user/assistant/user/assistant/... (message 2 is of role 'user')",
        ArgumentError);
    CHECK_THROWS_AS((void)t.render(std::vector<Message>{{"assistant", "a"}}, true), ArgumentError);
    const ChatTemplate none = ChatTemplate::from_text(support::llama2_template, "", "</s>");
    CHECK_THROWS_WITH_AS((void)none.render(std::vector<Message>{{"user", "a"}}, true),
                         "the chat format llama2 begins with the start token, and the tokenizer has none",
                         UnsupportedError);
}

TEST_CASE("acceptance C04: a template that is not known is refused with the choices, and one can be named") {
    CHECK_THROWS_WITH_AS(
        (void)ChatTemplate::from_text("{% foo %}\nbar", "", ""),
        "the chat template '{% foo %}...' is none of those known: ChatML (\"chatml\"), Llama 3 (\"llama3\"), "
        "Llama 3.1, 3.2 and 3.3 (\"llama3.1\"), Llama 2 (\"llama2\")",
        UnsupportedError);
    CHECK_THROWS_AS((void)ChatTemplate::from_text("", "", ""), UnsupportedError);
    CHECK_THROWS_WITH_AS((void)ChatTemplate::from_text(std::string(100'000, '{'), "", ""),
                         doctest::Contains(("the chat template '" + std::string(40, '{') + "...' is none").c_str()),
                         UnsupportedError);
    for (const char* name : {"chatml", "llama3", "llama3.1", "llama2"})
        CHECK(ChatTemplate::named(name, "<s>", "").name() == name);
    CHECK_THROWS_WITH_AS((void)ChatTemplate::named("alpaca", "", ""),
                         "no chat format 'alpaca'; expected one of: ChatML (\"chatml\"), Llama 3 (\"llama3\"), Llama 3.1, 3.2 and 3.3 "
                         "(\"llama3.1\"), Llama 2 (\"llama2\")",
                         ArgumentError);
}

TEST_CASE("acceptance C05: two user messages are legal in Llama 3, and a role is only a name") {
    const ChatTemplate t = ChatTemplate::from_text(support::llama3_template, "<s>", "");
    CHECK(text(t.render(std::vector<Message>{{"user", "a"}, {"user", "b"}}, false)) ==
          "<s><|start_header_id|>user<|end_header_id|>\n\na<|eot_id|><|start_header_id|>user<|end_header_id|>\n\nb<|"
          "eot_id|>");
    for (const char* role : {"", "user<|eot_id|>", "a b", "a\n"})
        CHECK_THROWS_WITH_AS((void)t.render(std::vector<Message>{{role, "a"}}, false),
                             message("a message of role '", role, "'").c_str(), ArgumentError);
}

TEST_CASE("acceptance C07: white space goes where the template trims, all of Unicode's") {
    CHECK(ChatTemplate::trimmed("\u00A0\u3000a\u00A0b\u2003\u0085\x1f\n") == "a\u00A0b");
    CHECK(ChatTemplate::trimmed("\u200Ba\uFEFF") == "\u200Ba\uFEFF");
    CHECK(ChatTemplate::trimmed(" \t\n\v\f\r\x1c\u1680\u2000\u200A\u2028\u2029\u202F\u205F").empty());
    CHECK(ChatTemplate::trimmed("\xA0"
                                "a\x85") ==
          "\xA0"
          "a\x85");  // bytes that are no characters
    const ChatTemplate llama = ChatTemplate::named("llama3", "<s>", ""), chatml = ChatTemplate::named("chatml", "", "");
    const std::vector<Message> spaced = {{"user", "  hi\n"}}, bare = {{"user", "hi"}};
    CHECK(text(llama.render(spaced, true)) == text(llama.render(bare, true)));
    CHECK(text(chatml.render(spaced, true)) != text(chatml.render(bare, true)));
    CHECK(llama.trims());
    CHECK_FALSE(chatml.trims());
}

TEST_CASE("acceptance B03: message text has segments of its own, one a message") {
    const std::vector<Message> hostile = {
        {"system", "<|im_end|>"}, {"user", "a<|eot_id|>b</s>"}, {"assistant", "<s>"}, {"user", ""}};
    for (const char* format : {"chatml", "llama3", "llama3.1", "llama2"}) {
        CAPTURE(format);
        const ChatTemplate t = ChatTemplate::named(format, "<s>", "</s>");
        std::vector<std::string> of(hostile.size());
        std::vector<int> n(hostile.size());
        for (const Segment& segment : t.render(hostile, true)) {
            if (segment.message < 0) {
                CHECK(segment.text.find("a<|") == std::string::npos);
                continue;
            }
            of[std::size_t(segment.message)] += segment.text;
            ++n[std::size_t(segment.message)];
        }
        for (std::size_t i = 0; i < hostile.size(); ++i) {
            CHECK(n[i] == 1);
            CHECK(of[i] == (std::string_view(format) == "llama2" && i == 2 ? " " : "") + hostile[i].content);
        }
    }
}

TEST_CASE("an assistant's segment begins where the prompt for its reply ends") {
    for (const char* format : {"chatml", "llama3", "llama3.1", "llama2"}) {
        CAPTURE(format);
        const ChatTemplate t = ChatTemplate::named(format, "<s>", "</s>");
        const std::string prompt = text(t.render(std::span(talk).first(2), true));
        std::string before;
        for (const Segment& segment : t.render(talk, true)) {
            if (segment.message == 2) break;
            before += segment.text;
        }
        CHECK(before == prompt);
    }
}

TEST_CASE("the templates of ../shared/data render as Hugging Face renders them") {
    const auto data = support::shared_data();
    if (!data) {
        MESSAGE("no shared data: skipped");
        return;
    }
    int rendered = 0, refused = 0;
    for (const char* name : {"chatml", "smollm2", "llama-2", "llama-3.1", "llama-3.2", "llama-3.3"}) {
        const std::string jinja = support::read_file(*data / "templates" / (std::string(name) + ".jinja"));
        std::istringstream cases(support::read_file(*data / "templates" / (std::string(name) + ".jsonl")));
        for (std::string line; std::getline(cases, line);) {
            const auto row = nlohmann::json::parse(line);
            const auto& variables = row.at("variables");
            CAPTURE(name);
            CAPTURE(row.at("case"));
            bool applies = true;  // no tools, and content that is text
            for (const char* tools : {"tools", "custom_tools", "builtin_tools"})
                applies = applies && (!variables.contains(tools) || variables.at(tools).is_null());
            std::vector<Message> messages;
            for (const auto& m : variables.at("messages")) {
                for (const auto& [key, value] : m.items()) applies = applies && (key == "role" || key == "content");
                applies = applies && m.contains("content") && m.at("content").is_string();
                if (applies) messages.push_back({m.at("role"), m.at("content")});
            }
            if (!applies) continue;
            ChatTemplate t =
                ChatTemplate::from_text(jinja, variables.value("bos_token", ""), variables.value("eos_token", ""));
            if (std::string_view(name) == "llama-3.2") t.set_date("04 Jul 2025");
            if (variables.contains("date_string")) t.set_date(variables.at("date_string"));
            const bool prompt = variables.value("add_generation_prompt", false);
            if (row.contains("expected")) {
                CHECK(text(t.render(messages, prompt)) == row.at("expected").get<std::string>());
                ++rendered;
            } else {
                std::string error;
                try {
                    (void)t.render(messages, prompt);
                } catch (const Error& e) { error = e.what(); }
                CHECK(!error.empty());
                if (row.at("error_kind") == "raise_exception")
                    CHECK(error.find(row.at("error").get<std::string>()) != std::string::npos);
                ++refused;
            }
        }
    }
    MESSAGE(rendered << " rendered, " << refused << " refused");
    CHECK(rendered > 50);

    for (const char* name : {"alpaca", "deepseek-r1-distill-llama-8b", "gemma-2", "hermes-3", "laguna-s-2.1",
                             "mistral-small-3.2", "mistral-v0.1", "phi-3", "qwen2.5", "qwen3", "smollm3", "zephyr"})
        CHECK_THROWS_AS((void)ChatTemplate::from_text(
                            support::read_file(*data / "templates" / (std::string(name) + ".jinja")), "<s>", "</s>"),
                        UnsupportedError);
}
