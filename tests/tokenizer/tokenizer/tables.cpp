#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer/tables.hpp>
#include <limits>

using namespace l3;
using namespace l3::tokenizer;

TEST_CASE("byte_of_token") {
    CHECK(byte_of_token("<0x00>") == 0);
    CHECK(byte_of_token("<0xAF>") == 0xAF);
    for (const char* text : {"<0xaf>", "<0x0G>", "<0x00", "<0x00>>", "0x00", "", "<1x00>"}) CHECK(byte_of_token(text) == -1);
}

TEST_CASE("acceptance B15: merges as one text or as two, and what is wrong with them") {
    const std::string file = "x.json";
    const WrittenTokens tokens({"a", "b", "ab", " ", "a ", "a b"});
    CHECK(tokens.find("ab") == 2);
    CHECK(tokens.find("") == -1);
    {
        MergeReader reader(file, tokens, 3);
        reader.add("a b");
        reader.add("a", " ");
        reader.add("a ", "b");  // a token with a space: only as two texts
        const MergeTable table = std::move(reader).take(1000);
        CHECK(table.find(0, 1).id == 2);
        CHECK(table.find(0, 1).rank == 0);
        CHECK(table.find(0, 3).id == 4);
        CHECK(table.find(4, 1).id == 5);
        CHECK(table.find(4, 1).rank == 2);
        CHECK(table.find(1, 0).rank == Merge::never);
    }
    MergeReader reader(file, tokens, 3);
    CHECK_THROWS_WITH_AS(reader.add("b a"), "x.json: merge 0 (\"b\" and \"a\") needs the token \"ba\", and there is none", FormatError);
    CHECK_THROWS_WITH_AS(reader.add("x", "a"), "x.json: merge 0 (\"x\" and \"a\") needs the token \"x\", and there is none", FormatError);
    for (const char* wrong : {"ab", "a  b", "a b ", " ab", "a ", ""})
        CHECK_THROWS_WITH_AS(reader.add(wrong), doctest::Contains("expected two tokens with one space between"), FormatError);
    CHECK_THROWS_WITH_AS((void)MergeReader(file, tokens, 0).take(513), "x.json: no merges for a vocabulary of 513 tokens", FormatError);
    CHECK_NOTHROW((void)MergeReader(file, tokens, 0).take(512));
}

TEST_CASE("set_scores: ranks by score, byte tokens by their kind") {
    Pipeline p;
    p.name = "x.bin";
    p.vocabulary.add(0, "\n", TokenKind::byte);
    p.vocabulary.add(1, "a", TokenKind::normal);
    p.vocabulary.add(2, "b", TokenKind::normal);
    set_scores(p, {0, -2, -1});
    const auto& model = std::get<SentencePieceBpe>(p.model);
    CHECK(model.ranks == std::vector<std::int32_t>{0, 2, 1});
    CHECK(model.byte_tokens['\n'] == 0);
    CHECK(model.byte_tokens['a'] == -1);
    CHECK_THROWS_WITH_AS(set_scores(p, {0, std::numeric_limits<float>::quiet_NaN(), 0}), "x.bin: the score of token 1 is not a number",
                         FormatError);
}
