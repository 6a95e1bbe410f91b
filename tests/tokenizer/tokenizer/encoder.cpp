#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer/encoder.hpp>

using namespace l3;
using namespace l3::tokenizer;

namespace {

/// Bytes, and " x" as 256; <t> is 300.
Pipeline pipeline() {
    Pipeline p;
    for (Token id = 0; id < 256; ++id) p.vocabulary.add(id, std::string(1, static_cast<char>(id)), TokenKind::normal);
    p.vocabulary.add(256, " x", TokenKind::normal);
    ByteLevelBpe bpe;
    bpe.merges = MergeTable(1);
    bpe.merges.insert(' ', 'x', {0, 256});
    bpe.set_bytes(p.vocabulary);
    p.model = std::move(bpe);
    p.added = AddedTokens({{"<t>", 300}});
    return p;
}
std::vector<Token> encode(const Pipeline& p, std::string_view text, bool add_prefix = true) {
    return Encoder(p, text.size(), add_prefix).run(text, {});
}

}  // namespace

TEST_CASE("Encoder: a prefix at the beginning, or before every part between added tokens") {
    Pipeline p = pipeline();
    p.normalizer.push_back({"", " "});
    CHECK(encode(p, "x<t>x") == std::vector<Token>{256, 300, 256});
    CHECK(encode(p, "x<t>x", false) == std::vector<Token>{'x', 300, 256});
    p.prefix_everywhere = false;
    CHECK(encode(p, "x<t>x") == std::vector<Token>{256, 300, 'x'});
    CHECK(encode(p, "<t>x") == std::vector<Token>{300, 'x'});
    p.bos_begins_text = true;
    p.bos = 300;
    CHECK(encode(p, "<t>x") == std::vector<Token>{300, 256});
    CHECK(encode(p, "").empty());
}

TEST_CASE("Encoder: tokens that are looked for in the normalized text") {
    Pipeline p = pipeline();
    p.normalizer.push_back({"Y", "y"});
    p.added_normalized = AddedTokens({{"yy", 301}});
    CHECK(encode(p, "xYyx<t>YY") == std::vector<Token>{'x', 301, 'x', 300, 301});
}

TEST_CASE("Encoder: what a normalizer makes of all parts of a text together is bounded") {
    Pipeline p = pipeline();
    p.name = "x.json";
    p.normalizer.assign(16, {"x", "xx"});  // 65536 of one
    std::string text;
    for (int i = 0; i < 16; ++i) text += "x<t>";
    CHECK_NOTHROW((void)encode(p, text));
    for (int i = 0; i < 4; ++i) text += "x<t>";
    CHECK_THROWS_WITH_AS((void)encode(p, text), doctest::Contains("x.json: step 10 of the normalizer (\"x\" to \"xx\") makes a text longer than"),
                         UnsupportedError);
}

TEST_CASE("Encoder: bytes that are no UTF-8 are a piece of their own, and stay") {
    Pipeline p = pipeline();
    p.pre_tokenizer.add(Split{Pattern(R"( ?\p{L}+)")});
    CHECK(encode(p, "a\xFF\xC3 x\xE6\x97") == std::vector<Token>{'a', 0xFF, 0xC3, 256, 0xE6, 0x97});
}

TEST_CASE("PieceCache: short and long pieces, met again and again, give what the model gives") {
    Pipeline p = pipeline();
    p.pre_tokenizer.add(Split{Pattern(gpt2_pattern)});
    std::string text;
    std::vector<Token> expected;
    for (int i = 0; i < 5000; ++i) {
        const std::string word = " x" + std::string(static_cast<std::size_t>(i % 40), static_cast<char>('a' + i % 7));
        text += word;
        expected.push_back(256);
        expected.insert(expected.end(), word.begin() + 2, word.end());
    }
    CHECK(encode(p, text) == expected);
}
