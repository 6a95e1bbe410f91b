#include <doctest/doctest.h>
#include <l3/tokenizer/tokenizer/pipeline.hpp>

using namespace l3;
using namespace l3::tokenizer;

TEST_CASE("replace_all: from left to right, what was put in is not looked at again") {
    CHECK(replace_all("a b c", " ", "__") == "a__b__c");
    CHECK(replace_all("aaa", "aa", "a") == "aa");
    CHECK(replace_all("abc", "x", "y") == "abc");
    CHECK(replace_all("", "x", "y") == "");
    CHECK(replace_all(std::string(written_space) + "a", written_space, " ") == " a");
}

TEST_CASE("Pipeline: end tokens are there, and once") {
    Pipeline p;
    p.name = "x.json";
    p.vocabulary.add(2, "</s>", TokenKind::special);
    p.add_end(2);
    p.add_end(2);
    CHECK(p.end_ids == std::vector<Token>{2});
    CHECK_THROWS_WITH_AS(p.add_end(1), "x.json: the id of an end token is 1, and there is no such token (3 ids)", FormatError);
}
