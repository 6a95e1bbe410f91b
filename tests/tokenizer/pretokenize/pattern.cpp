#include <doctest/doctest.h>
#include <l3/tokenizer/pretokenize/pattern.hpp>
#include <utility>
#include <vector>

using namespace l3;
using namespace l3::tokenizer;

namespace {

std::vector<std::string> matches(const Pattern& pattern, std::string_view text) {
    std::vector<std::string> out;
    Matcher(pattern).for_each(text, [&](std::size_t begin, std::size_t end) { out.emplace_back(text.substr(begin, end - begin)); });
    return out;
}
using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("Pattern: finds matches from left to right, by the classes of Unicode") {
    CHECK(matches(Pattern(R"(\p{L}+)"), "ab \xC3\xA9t\xC3\xA9 \xE6\x97\xA5") == Texts{"ab", "\xC3\xA9t\xC3\xA9", "\xE6\x97\xA5"});
    CHECK(matches(Pattern(R"(\p{N}{1,3})"), "1234") == Texts{"123", "4"});
    CHECK(matches(Pattern(R"(\s+)"), "a\xC2\xA0 b\xE1\xA0\x8E") == Texts{"\xC2\xA0 "});
    CHECK(matches(Pattern("(?i:'S)"), "it's 'S") == Texts{"'s", "'S"});
    CHECK(matches(Pattern("x*"), "axxb\xC3\xA9x") == Texts{"xx", "x"});  // empty matches count for nothing
    CHECK(matches(Pattern("x"), "").empty());
    CHECK(matches(Pattern(R"((?<=a)b)"), "abb") == Texts{"b"});  // what lies behind is seen
}

TEST_CASE("Pattern: quoted texts match themselves") {
    for (const char* text : {" ", R"(\^$.[]|()?*+{}-#&)", "[:alpha:]", "a.b", "\n", "\xE2\x96\x81", R"(\E)", "[a[b]]", "a{,3}+"})
        CHECK(matches(Pattern(Pattern::quote(text)), std::string("xx") + text + "yy") == Texts{text});
    CHECK(Pattern("a+").source() == "a+");
}

TEST_CASE("Pattern: what does not compile is named") {
    CHECK_THROWS_WITH_AS(Pattern("a(b"), "the pattern \"a(b\" does not compile: missing closing parenthesis", UnsupportedError);
    CHECK_THROWS_WITH_AS(Pattern(R"(\p{Foo})"), doctest::Contains("\\p{Foo}"), UnsupportedError);
}

TEST_CASE("acceptance B10: a pattern that takes too many steps ends in an error that names it") {
    const Pattern bad("(a+)+[bc]");
    const std::string text(60, 'a');
    CHECK_THROWS_WITH_AS((void)matches(bad, text), doctest::Contains("the pattern \"(a+)+[bc]\" takes too many steps on a text of 60 bytes"),
                         UnsupportedError);
    CHECK(matches(bad, "aab") == Texts{"aab"});
}

TEST_CASE("Matcher: runs of 200000 characters") {
    for (const char* pattern : {R"([^\r\n\p{L}\p{N}]?\p{L}+|\s*[\r\n]+|\s+(?!\S)|\s+| ?[^\s\p{L}\p{N}]+[\r\n]*)"}) {
        const Pattern compiled(pattern);
        for (const char c : {'a', ' ', '\n', '_', 'x'}) CHECK(matches(compiled, std::string(200'000, c)) == Texts{std::string(200'000, c)});
    }
}
