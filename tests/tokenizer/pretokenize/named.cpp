#include <doctest/doctest.h>
#include <l3/tokenizer/pretokenize/named.hpp>

using namespace l3;
using namespace l3::tokenizer;

namespace {

using Texts = std::vector<std::string>;
Texts pieces(std::string_view name, std::string_view text) {
    const NamedPreTokenizer named = named_pre_tokenizer(name, "x.gguf");
    PreTokenizer::Scratch scratch(named.steps);
    Texts out;
    named.steps.run(text, Place::start, scratch, [&](std::string_view piece) { out.emplace_back(piece); });
    return out;
}

}  // namespace

TEST_CASE("acceptance B01: the pieces of Llama 3") {
    CHECK(pieces("llama-bpe", "1234567") == Texts{"123", "456", "7"});
    CHECK(pieces("llama-bpe", "I'LL don't") == Texts{"I", "'LL", " don", "'t"});
    CHECK(pieces("llama-bpe", "a   b") == Texts{"a", "  ", " b"});
    CHECK(pieces("llama-bpe", "x  \n\n  y") == Texts{"x", "  \n\n", " ", " y"});
    // Arabic digits
    CHECK(pieces("llama-bpe", "\xD9\xA3\xD9\xA4\xD9\xA5\xD9\xA6") == Texts{"\xD9\xA3\xD9\xA4\xD9\xA5", "\xD9\xA6"});
    CHECK(pieces("llama-bpe", "\"Hello") == Texts{"\"Hello"});
    CHECK(pieces("llama-bpe", "a\xC2\xA0" "b") == Texts{"a", "\xC2\xA0" "b"});
    CHECK(pieces("llama-bpe", "a\xC2\xA0\xC2\xA0" "b") == Texts{"a", "\xC2\xA0", "\xC2\xA0" "b"});
    CHECK(pieces("llama-bpe", "end!!\n\nx") == Texts{"end", "!!\n\n", "x"});
    CHECK(pieces("llama-bpe", " \n") == Texts{" \n"});
}

TEST_CASE("named_pre_tokenizer: the others, and what a name implies") {
    CHECK(pieces("smollm", "a 123 don't") == Texts{"a", " ", "1", "2", "3", " don", "'t"});
    CHECK(pieces("gpt-2", "a 123 DON'T  x") == Texts{"a", " 123", " DON", "'", "T", " ", " x"});
    CHECK(pieces("qwen2", "a 123\n") == Texts{"a", " ", "1", "2", "3", "\n"});
    CHECK(pieces("default", "a+b 1234.") == Texts{"a", "+", "b", " ", "123", "4", "."});
    for (const char* name : {"llama-bpe", "llama3", "llama-v3"}) {
        CHECK(named_pre_tokenizer(name, "").ignore_merges);
        CHECK(named_pre_tokenizer(name, "").add_bos);
    }
    for (const char* name : {"smollm", "gpt-2", "qwen2", "default"}) {
        CHECK_FALSE(named_pre_tokenizer(name, "").ignore_merges);
        CHECK_FALSE(named_pre_tokenizer(name, "").add_bos);
    }
}

TEST_CASE("named_pre_tokenizer: a name that is not known is quoted, with those that are") {
    CHECK_THROWS_WITH_AS((void)named_pre_tokenizer("deepseek-llm", "x.gguf"),
                         "x.gguf: the pre-tokenizer 'deepseek-llm' (metadata 'tokenizer.ggml.pre') is not known; known are "
                         "llama-bpe, llama3, llama-v3, smollm, gpt-2, qwen2 and default",
                         UnsupportedError);
}
