#include <doctest/doctest.h>
#include <l3/tokenizer/pretokenize/translate.hpp>

using namespace l3;
using tokenizer::translate_pattern;

TEST_CASE("translate_pattern: white space is listed, inside and outside of classes; the rest stays") {
    const std::string white(tokenizer::white_space_class), rest(tokenizer::no_white_space_class);
    CHECK(translate_pattern(R"(\s+)") == "[" + white + "]+");
    CHECK(translate_pattern(R"((?!\S))") == "(?![" + rest + "])");
    CHECK(translate_pattern(R"([^\s\p{L}]?)") == "[^" + white + R"(\p{L}]?)");
    CHECK(translate_pattern(R"([\S])") == "[" + rest + "]");
    for (const char* same : {R"(\p{L}+|\P{N}+)", R"(\x{a0}+)", R"(\p{N}{1,3})", R"([^\r\n]*)", "[[:alpha:]]", R"(\\s)", R"(a\[b)",
                             "(?i:'s|'ll)", "a++", "\\", ""})
        CHECK(translate_pattern(same) == same);
    CHECK(translate_pattern("[]a]") == "[\\]a]");  // a bracket first in a class is one of its characters
    CHECK(translate_pattern("[^]a]") == "[^\\]a]");
}

TEST_CASE("translate_pattern: refuses what is understood differently") {
    CHECK_THROWS_WITH_AS((void)translate_pattern("[a[b]]"),
                         "the pattern \"[a[b]]\" uses a character class inside of a character class, which l3 does not know",
                         UnsupportedError);
    CHECK_THROWS_WITH_AS((void)translate_pattern("[a&&b]"), doctest::Contains("an intersection of character classes (&&)"),
                         UnsupportedError);
    CHECK_THROWS_WITH_AS((void)translate_pattern("\\h"), doctest::Contains("uses \\h"), UnsupportedError);
    CHECK_THROWS_WITH_AS((void)translate_pattern("a{1,3}+"), doctest::Contains("'+' behind an interval"), UnsupportedError);
    CHECK_THROWS_WITH_AS((void)translate_pattern("a{,3}"), doctest::Contains("an interval without a lower end"), UnsupportedError);
}

TEST_CASE("is_white_space: the 25 characters of the property White_Space") {
    int count = 0;
    for (char32_t c = 0; c <= 0x10FFFF; ++c) count += tokenizer::is_white_space(c);
    CHECK(count == 25);
    CHECK(tokenizer::is_white_space(0x3000));
    CHECK_FALSE(tokenizer::is_white_space(0x180E));  // was white space until Unicode 6.3
    CHECK_FALSE(tokenizer::is_white_space(0x200B));
}
