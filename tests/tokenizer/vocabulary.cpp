#include <doctest/doctest.h>
#include <l3/tokenizer/vocabulary.hpp>

using namespace l3;
using namespace l3::tokenizer;

TEST_CASE("Vocabulary: ids, bytes and kinds, with gaps") {
    Vocabulary v;
    v.add(4, "four", TokenKind::normal);
    v.add(1, "<s>", TokenKind::special);
    v.add(2, std::string("\0x", 2), TokenKind::normal);
    CHECK(v.size() == 5);
    CHECK(v.find("four") == 4);
    CHECK(v.find(std::string_view("\0x", 2)) == 2);
    CHECK(v.find("<s>") == -1);  // nothing that merging gives
    CHECK(v.find("fou") == -1);
    CHECK(v.bytes(1) == "<s>");
    CHECK(v.kind(1) == TokenKind::special);
    CHECK(v.contains(4));
    for (const Token none : {-1, 0, 3, 5, 1'000'000}) CHECK_FALSE(v.contains(none));
}

TEST_CASE("Vocabulary: of two tokens with the same bytes the first is found") {
    Vocabulary v;
    v.add(7, "a", TokenKind::normal);
    v.add(3, "a", TokenKind::normal);
    CHECK(v.find("a") == 7);
    CHECK(v.bytes(3) == "a");
}

TEST_CASE("Vocabulary: many texts, grown as they come") {
    Vocabulary v;
    for (int i = 0; i < 20'000; ++i) v.add(i, std::to_string(i * 7919), TokenKind::normal);
    for (int i = 0; i < 20'000; ++i) REQUIRE(v.find(std::to_string(i * 7919)) == i);
    CHECK(v.find("1") == -1);
    CHECK(v.find("") == -1);
}

TEST_CASE("Vocabulary: an id is there once, and not out of range") {
    Vocabulary v;
    v.add(3, "a", TokenKind::normal);
    CHECK_THROWS_WITH_AS(v.add(3, "b", TokenKind::normal), "two tokens have the id 3", FormatError);
    CHECK_THROWS_WITH_AS(v.add(-1, "b", TokenKind::normal), "token id -1 is out of range", FormatError);
    CHECK_THROWS_WITH_AS(v.add(1 << 28, "b", TokenKind::normal), "token id 268435456 is out of range", FormatError);
}

TEST_CASE("hash_bytes: looks at every byte and at the length") {
    const std::string text = "a text of more than two words of eight bytes";
    for (std::size_t i = 0; i < text.size(); ++i) {
        std::string other = text;
        other[i] ^= 1;
        CHECK(hash_bytes(other) != hash_bytes(text));
        CHECK(hash_bytes(text.substr(0, i)) != hash_bytes(text));
    }
    CHECK(hash_bytes(std::string(3, '\0')) != hash_bytes(std::string(4, '\0')));
}
