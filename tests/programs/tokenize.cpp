#include <doctest/doctest.h>
#include "chat_model.hpp"

using support::run;

TEST_CASE("l3-tokenize: text to ids and back, byte for byte") {
    const support::ChatModel model;
    const std::string text = "Hello \xE6\x9D\xB1\xE4\xBA\xAC,\n\n tab\t<|im_end|> ab";
    const auto ids = run("l3-tokenize", {"-m", model.path()}, text);
    CHECK(ids.status == 0);
    CHECK(ids.err == "");
    CHECK(ids.out.starts_with("72 101 108 108 111 32 "));  // bytes are ids in this tokenizer
    CHECK(ids.out.ends_with(" 32 256\n"));
    const auto back = run("l3-tokenize", {"--tokenizer", model.file("tokenizer.json").string(), "--decode"}, ids.out);
    CHECK(back.status == 0);
    CHECK(back.out == text);
}

TEST_CASE("l3-tokenize: --special and --bos") {
    const support::ChatModel model;
    const std::string end = std::to_string(model.id_of("<|im_end|>")), begin = std::to_string(model.id_of("<|begin|>"));
    CHECK(run("l3-tokenize", {"-m", model.path(), "--special"}, "A<|im_end|>").out == "65 " + end + "\n");
    CHECK(run("l3-tokenize", {"-m", model.path(), "--bos"}, "A").out == begin + " 65\n");
    CHECK(run("l3-tokenize", {"-m", model.path(), "--special", "--decode"}, "65").status == 2);
    CHECK(run("l3-tokenize", {"-m", model.path(), "--bos", "--decode"}, "65").status == 2);
}

TEST_CASE("l3-tokenize --jsonl: one value a line, escaped or not") {
    const support::ChatModel model;
    const auto ids = run("l3-tokenize", {"-m", model.path(), "--jsonl"}, "\"A\\n\\u00e9\"\n\"\"\n\"\xE2\x80\xA8\"");
    CHECK(ids.status == 0);
    CHECK(ids.out == "[65,10,195,169]\n[]\n[226,128,168]\n");
    const auto back = run("l3-tokenize", {"-m", model.path(), "--jsonl", "--decode"}, ids.out + "[65,255]\n");
    CHECK(support::json_lines(back.out) ==
          std::vector<nlohmann::json>{"A\n\xC3\xA9", "", "\xE2\x80\xA8", "A\xEF\xBF\xBD"});  // a byte that is no text: U+FFFD

    const auto error = [&](const std::vector<std::string>& more, const char* input, const char* text) {
        std::vector<std::string> arguments{"-m", model.path()};
        arguments.insert(arguments.end(), more.begin(), more.end());
        const auto r = run("l3-tokenize", arguments, input);
        CHECK(r.status == 1);
        CHECK(r.err == std::string("l3-tokenize: error: ") + text + "\n");
    };
    error({"--jsonl"}, "\"a\"\nb\n", "standard input, line 2: expected a JSON string, found b");
    error({"--jsonl"}, "[1]", "standard input, line 1: expected a JSON string, found [1]");
    error({"--jsonl", "--decode"}, "[65]\n\n", "standard input, line 2: expected a JSON array of ids, found ");
    error({"--jsonl", "--decode"}, "[1.5]", "standard input, line 1: expected a JSON array of ids, found [1.5]");
    error({"--jsonl", "--decode"}, "[4294967361]", "standard input, line 1: expected a JSON array of ids, found [4294967361]");
    error({"--decode"}, "1 x2", "standard input: 'x2' is no token id");
}
