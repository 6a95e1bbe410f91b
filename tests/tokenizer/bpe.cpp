#include <doctest/doctest.h>
#include <l3/tokenizer/bpe.hpp>

using namespace l3;
using namespace l3::tokenizer;

namespace {

/// a, b, c, ab and abc; ab is what the only merge makes.
struct Abc {
    Vocabulary vocabulary;
    ByteLevelBpe bpe;

    Abc() {
        const char* const texts[] = {"a", "b", "c", "ab", "abc"};
        for (Token id = 0; id < 5; ++id) vocabulary.add(id, texts[id], TokenKind::normal);
        bpe.merges = MergeTable(1);
        bpe.merges.insert(0, 1, {0, 3});
        bpe.set_bytes(vocabulary);
    }
    [[nodiscard]] std::vector<Token> encode(std::string_view piece) const {
        std::vector<Symbol> symbols;
        std::vector<Token> ids;
        bpe.encode(vocabulary, piece, symbols, ids);
        return ids;
    }
};

}  // namespace

TEST_CASE("acceptance B02: a piece that is a token wins before merging, where the file says so") {
    Abc abc;
    CHECK(abc.encode("abc") == std::vector<Token>{3, 2});
    abc.bpe.ignore_merges = true;
    CHECK(abc.encode("abc") == std::vector<Token>{4});
    CHECK(abc.encode("abca") == std::vector<Token>{3, 2, 0});
}

TEST_CASE("ByteLevelBpe: bytes without a token are left out, or unknown, one by one or together") {
    Abc abc;
    CHECK(abc.encode("axxb") == std::vector<Token>{3});  // as the reference has it: what is left merges
    abc.bpe.unknown = 2;
    CHECK(abc.encode("axxb") == std::vector<Token>{0, 2, 2, 1});
    abc.bpe.fuse_unknown = true;
    CHECK(abc.encode("axxbx") == std::vector<Token>{0, 2, 1, 2});
}
