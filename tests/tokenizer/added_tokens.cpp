#include <doctest/doctest.h>
#include <l3/tokenizer/added_tokens.hpp>

using namespace l3;
using namespace l3::tokenizer;

namespace {

Regions all(std::string_view text) {
    Regions regions;
    regions.add(0, text.size());
    return regions;
}
/// The match as "id:begin-end", or "".
std::string next(const AddedTokens& tokens, std::string_view text, std::size_t from, const Regions& special) {
    const auto match = tokens.next(text, from, special);
    if (!match) return "";
    return std::to_string(match->id) + ":" + std::to_string(match->begin) + "-" + std::to_string(match->end);
}

}  // namespace

TEST_CASE("AddedTokens: the leftmost match, of those the longest") {
    const AddedTokens tokens({{"<a", 1}, {"<ab>", 2}, {"b>", 3}, {"<abcd", 4}});
    CHECK(next(tokens, "x<ab>y", 0, {}) == "2:1-5");
    CHECK(next(tokens, "x<abcz", 0, {}) == "1:1-3");
    CHECK(next(tokens, "x<ab>y", 2, {}) == "3:3-5");
    CHECK(next(tokens, "x<ab", 0, {}) == "1:1-3");
    CHECK(next(tokens, "xyz<", 0, {}) == "");
    CHECK(next(tokens, "", 0, {}) == "");
    CHECK(next(AddedTokens(), "<ab>", 0, {}) == "");
    CHECK(AddedTokens().empty());
    CHECK(tokens.find("<ab>")->id == 2);
    CHECK(tokens.find("<abc") == nullptr);
}

TEST_CASE("AddedTokens: of a length that may be compared at every byte of a text") {
    CHECK_NOTHROW(AddedTokens({{std::string(1024, 'a'), 1}}));
    CHECK_THROWS_WITH_AS(AddedTokens({{"b", 1}, {std::string(1025, 'a'), 2}}, "x.json"),
                         "x.json: the added token 2 has 1025 bytes, expected at most 1024", UnsupportedError);
}

TEST_CASE("acceptance B03: special tokens are matched within the regions only, others anywhere") {
    const AddedTokens tokens({{"<s>", 1, true}, {"<s", 2}, {"<t>", 3}});
    CHECK(next(tokens, "<s>", 0, all("<s>")) == "1:0-3");
    CHECK(next(tokens, "<s>", 0, {}) == "2:0-2");
    CHECK(next(tokens, "a<t>", 0, {}) == "3:1-4");
    Regions inner;
    inner.add(0, 0);  // nothing
    inner.add(2, 4);
    inner.add(4, 5);  // goes on with the one before
    CHECK(next(tokens, "xx<s>x", 0, inner) == "1:2-5");
    CHECK(next(tokens, "xxx<s>", 0, inner) == "2:3-5");  // reaches beyond
    CHECK(next(tokens, "x<s>xx", 0, inner) == "2:1-3");
}

TEST_CASE("AddedTokens: white space that a token takes along, but a special token none from outside of its region") {
    AddedToken left{"<l>", 1}, right{"<r>", 2}, special{"<s>", 3, true};
    left.lstrip = right.rstrip = special.lstrip = special.rstrip = true;
    const AddedTokens tokens({left, right, special});
    CHECK(next(tokens, "a \xC2\xA0\n<l> b", 0, {}) == "1:1-8");
    CHECK(next(tokens, "a <r>\xE3\x80\x80 b", 0, {}) == "2:2-9");
    CHECK(next(tokens, "  <l>", 1, {}) == "1:1-5");  // not what lies behind the start
    CHECK(next(tokens, "<r> \xFF", 0, {}) == "2:0-4");
    CHECK(next(tokens, "\x80 <l>", 0, {}) == "1:1-5");
    Regions region;
    region.add(1, 6);
    CHECK(next(tokens, "  <s>   ", 0, region) == "3:1-6");
}
