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

TEST_CASE("normalize: step after step, and no longer than it may become") {
    std::string memory;
    const auto run = [&](const std::vector<Normalization>& steps, std::string_view text, bool prefix = true) {
        return normalize(steps, text, prefix, 1000, memory, "x.json");
    };
    const std::string_view text = "a b";
    CHECK(run({{"", " "}, {" ", "__"}}, text) == "__a__b");
    CHECK(run({{"", " "}, {" ", "__"}}, text, false) == "a__b");
    CHECK(run({{"x", "y"}}, text).data() == text.data());
    CHECK(run({{"a", std::string(998, 'x')}}, text).size() == 1000);
    CHECK_THROWS_WITH_AS(run({{"b", "c"}, {"c", std::string(999, 'x')}}, text),
                         ("x.json: step 1 of the normalizer (\"c\" to \"" + std::string(999, 'x') +
                          "\") makes a text longer than the 1000 bytes that it may become").c_str(), UnsupportedError);
    CHECK_THROWS_AS(run({{"", std::string(998, 'x')}}, text), UnsupportedError);
    CHECK_THROWS_AS(run(std::vector<Normalization>(64, {"a", "aa"}), text), UnsupportedError);
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
