#include <doctest/doctest.h>
#include <l3/tokenizer/sentencepiece.hpp>

using namespace l3;
using namespace l3::tokenizer;

namespace {

/// Ids 0 to 255 are bytes, then the pieces in the order of their scores; 1000 is unknown.
struct Model {
    Vocabulary vocabulary;
    SentencePieceBpe bpe;

    explicit Model(const std::vector<std::string>& pieces) {
        std::vector<float> scores;
        for (Token id = 0; id < 256; ++id) {
            vocabulary.add(id, std::string(1, static_cast<char>(id)), TokenKind::byte);
            bpe.byte_tokens[static_cast<std::size_t>(id)] = id;
            scores.push_back(0);
        }
        for (const std::string& piece : pieces) {
            vocabulary.add(vocabulary.size(), piece, TokenKind::normal);
            scores.push_back(-static_cast<float>(vocabulary.size()));
        }
        bpe.set_ranks(scores);
        bpe.set_separate_words(vocabulary);
    }
    [[nodiscard]] std::vector<Token> encode(std::string_view piece) const {
        std::vector<Symbol> symbols;
        std::vector<Token> ids;
        bpe.encode(vocabulary, piece, symbols, ids);
        return ids;
    }
    [[nodiscard]] std::vector<std::string> words(std::string_view text) const {
        std::vector<std::string> out;
        bpe.for_each_word(text, [&](std::string_view word) { out.emplace_back(word); });
        return out;
    }
};

}  // namespace

TEST_CASE("SentencePieceBpe: merges to the token of the highest score, the leftmost of equal ones") {
    const Model model({"bc", "ab", "a", "b", "c", "abc"});  // 256 and on
    CHECK(model.encode("abc") == std::vector<Token>{261});  // a, bc, and abc is a token
    CHECK(model.encode("ab") == std::vector<Token>{257});
    CHECK(model.encode("aab") == std::vector<Token>{258, 257});
    CHECK(model.encode("") == std::vector<Token>{});

    Model equal({"aa", "a"});
    equal.bpe.set_ranks(std::vector<float>(258, 1.0f));
    CHECK(equal.bpe.ranks == std::vector<std::int32_t>(258, 0));
    CHECK(equal.encode("aaa") == std::vector<Token>{256, 257});
}

TEST_CASE("acceptance B08: characters that are no token become the tokens of their bytes") {
    const Model model({"a", "\xC3\xA9"});
    CHECK(model.encode("a\xC3\xA9") == std::vector<Token>{256, 257});
    CHECK(model.encode("a\xE6\x97\xA5" "a") == std::vector<Token>{256, 0xE6, 0x97, 0xA5, 256});
    CHECK(model.encode("\xF0\x92\x8E\x97") == std::vector<Token>{0xF0, 0x92, 0x8E, 0x97});
    CHECK(model.encode("\xFF\xC3") == std::vector<Token>{0xFF, 0xC3});  // bytes that are no character too
}

TEST_CASE("SentencePieceBpe: characters merge to a token though they are none themselves") {
    const Model model({"xy"});
    CHECK(model.encode("xy") == std::vector<Token>{256});
    CHECK(model.encode("xz") == std::vector<Token>{'x', 'z'});
}

TEST_CASE("SentencePieceBpe: without a byte's token the unknown one stands for the character, or nothing") {
    for (const bool by_merges : {false, true}) {
        CAPTURE(by_merges);
        Model model({"a"});
        if (by_merges) model.bpe.ranks.clear();
        model.bpe.byte_tokens[0xA5] = -1;
        const std::string text = "a\xE6\x97\xA5\xE6\x97\xA5" "a";
        CHECK(model.encode(text) == std::vector<Token>{256, 256});
        model.bpe.unknown = 1000;
        CHECK(model.encode(text) == std::vector<Token>{256, 1000, 1000, 256});
        model.bpe.fuse_unknown = true;
        CHECK(model.encode(text) == std::vector<Token>{256, 1000, 256});
    }
}

TEST_CASE("SentencePieceBpe: by a list of merges, and whole pieces first where the file says so") {
    Model model({"a", "b", "ab", "c", "abc"});
    model.bpe.ranks.clear();
    model.bpe.merges = MergeTable(1);
    model.bpe.merges.insert(256, 257, {0, 258});
    CHECK(model.encode("abc") == std::vector<Token>{258, 259});
    model.bpe.ignore_merges = true;
    CHECK(model.encode("abc") == std::vector<Token>{260});
}

TEST_CASE("SentencePieceBpe: words are encoded one by one where no token reaches over a border") {
    using Texts = std::vector<std::string>;
    const Model separate({" ", " a", "  ", "b"});
    CHECK(separate.bpe.separate_words);
    CHECK(separate.words(" ab  c d ") == Texts{" ab", "  c", " d", " "});
    CHECK(separate.words("  ") == Texts{"  "});
    CHECK(separate.words("") == Texts{});
    const Model over({" ", "a b"});
    CHECK_FALSE(over.bpe.separate_words);
    CHECK(over.words(" ab  c") == Texts{" ab  c"});
}
