#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer/components.hpp>
#include "support/error_text.hpp"
#include "tokenizer/synthetic.hpp"

using namespace l3;
using namespace l3::tokenizer;
using synthetic::json;

namespace {

Components read(const json& root) { return read_components(io::JsonObject(root, "x.json")); }

/// The tokenizer with one of its components replaced.
json with(json root, const char* key, const char* component) {
    root[key] = json::parse(component);
    return root;
}
std::string refusal(const json& root) {
    return support::error_text<UnsupportedError>([&] { (void)read(root); });
}
const json byte_level = synthetic::byte_level({}), sentencepiece = synthetic::sentencepiece({"a"}, {});
std::size_t steps(const json& root) { return read(root).pre_tokenizer.steps().size(); }

}  // namespace

TEST_CASE("read_components: the byte-level kind") {
    const Components c = read(byte_level);
    CHECK(c.byte_level);
    CHECK(c.normalizer.empty());
    CHECK(c.bos == std::nullopt);
    CHECK_FALSE(c.strip_prefix);
    CHECK(steps(byte_level) == 1);
    CHECK(steps(with(byte_level, "pre_tokenizer", R"({"type": "ByteLevel", "use_regex": false})")) == 1);  // a space in front
    CHECK(steps(with(byte_level, "pre_tokenizer", R"({"type": "ByteLevel"})")) == 2);
    CHECK(steps(with(byte_level, "pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [
        {"type": "Digits", "individual_digits": true}, {"type": "Split", "pattern": {"Regex": "x+"}, "behavior": "Removed", "invert": true},
        {"type": "Split", "pattern": {"String": "."}, "behavior": "MergedWithNext"},
        {"type": "ByteLevel", "add_prefix_space": false, "use_regex": false}]})")) == 3);
    CHECK(steps(with(byte_level, "decoder", "null")) == 1);
}

TEST_CASE("read_components: the SentencePiece kind, spaces being spaces") {
    const Components c = read(sentencepiece);
    CHECK_FALSE(c.byte_level);
    CHECK(c.space == "\xE2\x96\x81");
    CHECK(c.strip_prefix);
    CHECK(c.bos == 1);
    std::string memory;
    CHECK(normalize(c.normalizer, "a b", true, 100, memory, "x.json") == " a b");
    json metaspace = with(sentencepiece, "normalizer", "null");
    metaspace = with(metaspace, "pre_tokenizer", R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": false})");
    metaspace = with(metaspace, "decoder", R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first"})");
    const Components m = read(metaspace);
    CHECK(m.metaspace);
    CHECK(m.strip_prefix);
    REQUIRE(m.pre_tokenizer.steps().size() == 1);
    CHECK(std::get<Metaspace>(m.pre_tokenizer.steps()[0]).prepend == Metaspace::first);
    CHECK_FALSE(std::get<Metaspace>(m.pre_tokenizer.steps()[0]).split);
    CHECK_FALSE(read(with(metaspace, "decoder", R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "never"})")).strip_prefix);
}

TEST_CASE("acceptance B14: components that are not known are refused by their type") {
    const auto mentions = [](const std::string& text, std::initializer_list<std::string_view> parts) {
        INFO(text);
        CHECK(support::mentions(text, parts));
    };
    mentions(refusal(with(byte_level, "pre_tokenizer", R"({"type": "Foo"})")),
             {"x.json: the pre_tokenizer type 'Foo' is not known; known are ByteLevel, Split"});
    mentions(refusal(with(byte_level, "pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [{"type": "Foo"}]})")), {"'Foo'"});
    mentions(refusal(with(byte_level, "normalizer", R"({"type": "NFC"})")), {"normalizer type 'NFC'"});
    mentions(refusal(with(byte_level, "decoder", R"({"type": "WordPiece"})")), {"decoder type 'WordPiece'"});
    mentions(refusal(with(byte_level, "post_processor", R"({"type": "BertProcessing"})")), {"post_processor type 'BertProcessing'"});
    mentions(refusal(with(byte_level, "pre_tokenizer", R"({"type": "Split", "pattern": {"String": "."}, "behavior": "Foo"})")),
             {"behavior 'Foo' of Split"});
    mentions(refusal(with(byte_level, "pre_tokenizer", R"({"type": "Split", "pattern": {"Regex": "(a"}})")), {"x.json: the pattern \"(a\" does not compile"});
    mentions(refusal(with(byte_level, "pre_tokenizer", R"({"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]})")),
             {"'Digits' behind ByteLevel"});
    mentions(refusal(with(sentencepiece, "pre_tokenizer", R"({"type": "Metaspace", "replacement": "▁", "prepend_scheme": "foo"})")),
             {"prepend_scheme 'foo'"});
    mentions(refusal(with(sentencepiece, "normalizer", R"({"type": "Replace", "pattern": {"Regex": "a"}, "content": "b"})")),
             {"Replace normalizer without a text"});
    mentions(refusal(with(byte_level, "decoder", R"({"type": "Fuse"})")), {"of pre_tokenizer and decoder one is ByteLevel, the other not"});
    mentions(refusal(with(sentencepiece, "normalizer", "null")), {"neither the last normalizer nor a pre_tokenizer writes them so"});
    mentions(refusal(with(sentencepiece, "decoder", R"({"type": "Strip", "content": " ", "start": 2, "stop": 0})")), {"a Strip decoder"});
    mentions(refusal(with(sentencepiece, "decoder", "null")), {"no kind of tokenizer that is known"});
    mentions(refusal(with(sentencepiece, "post_processor", R"({"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<s>"}}],
             "special_tokens": {"<s>": {"ids": [1, 2]}}})")), {"\"<s>\" in front, which is 2 tokens, expected one"});
    CHECK(support::mentions(support::error_text<FormatError>([] {
              (void)read(with(byte_level, "pre_tokenizer", R"({"type": "Sequence", "pretokenizers": 3})"));
          }), {"x.json: no list 'pre_tokenizer.pretokenizers'"}));
    CHECK(support::mentions(support::error_text<FormatError>([] { (void)read(with(byte_level, "pre_tokenizer", R"({"type": "Split"})")); }),
                            {"x.json: no 'pre_tokenizer.pattern'"}));
}

TEST_CASE("read_components: sequences of more steps than any known file has are refused") {
    const auto sequence = [](json root, const char* key, const char* list, json member, std::size_t n) {
        root[key] = {{"type", "Sequence"}, {list, json(n, std::move(member))}};
        return root;
    };
    const auto refuses = [&](const json& root, const char* key, const char* list, const json& member) {
        CHECK(refusal(sequence(root, key, list, member, 20'000)) ==
              "x.json: '" + std::string(key) + "." + list + "' is a sequence of 20000, expected at most 64");
    };
    const json metaspace{{"type", "Metaspace"}, {"replacement", "\xE2\x96\x81"}, {"prepend_scheme", "never"}, {"split", false}};
    refuses(sentencepiece, "pre_tokenizer", "pretokenizers", metaspace);
    refuses(sentencepiece, "normalizer", "normalizers", {{"type", "Prepend"}, {"prepend", "x"}});
    refuses(sentencepiece, "decoder", "decoders", {{"type", "Fuse"}});
    refuses(sentencepiece, "post_processor", "processors", {{"type", "ByteLevel"}});
    CHECK(steps(sequence(sentencepiece, "pre_tokenizer", "pretokenizers", metaspace, 64)) == 64);
}
