#include "l3/session/random.hpp"
#include "l3/session/stop_strings.hpp"
#include <doctest/doctest.h>

using namespace l3;

namespace {

struct Result {
    std::string text;
    bool stopped;
    friend bool operator==(const Result&, const Result&) = default;
};

Result run(const std::vector<std::string>& stops, const std::vector<std::string>& pieces) {
    StopStrings matcher(stops);
    Result result{{}, false};
    for (const std::string& piece : pieces) {
        result.stopped = matcher.push(piece, result.text);
        if (result.stopped) return result;
    }
    result.text += matcher.finish();
    return result;
}

/// The rule, looked up in the whole text.
Result naive(const std::vector<std::string>& stops, const std::string& text) {
    for (std::size_t end = 1; end <= text.size(); ++end) {
        std::size_t longest = 0;
        for (const std::string& stop : stops)
            if (text.substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
        if (longest > 0) return {text.substr(0, end - longest), true};
    }
    return {text, false};
}

}  // namespace

TEST_CASE("acceptance J02: stop strings span pieces, are cut away, and hold back no more than they must") {
    CHECK(run({"BCDE"}, {"AB", "CD", "EF"}) == Result{"A", true});
    CHECK(run({"CDX"}, {"AB", "CD", "EF"}) == Result{"ABCDEF", false});
    CHECK(run({"\nUser:"}, {"x", "\nUs", "er:"}) == Result{"x", true});
    CHECK(run({"\nUser:"}, {"x", "\nUs"}) == Result{"x\nUs", false});
    CHECK(run({"aa"}, {"a", "a"}) == Result{"", true});
    CHECK(run({"abc", "b"}, {"a", "b", "c"}) == Result{"a", true});
    CHECK(run({"abc", "b"}, {"abc"}) == Result{"a", true});
    CHECK(run({"bc", "abc"}, {"xa", "bc"}) == Result{"x", true});
    CHECK(run({}, {"a", "b"}) == Result{"ab", false});
    CHECK(run({"aab"}, {"a", "a", "a", "b"}) == Result{"a", true});

    StopStrings matcher({"abcd"});
    std::string out;
    CHECK_FALSE(matcher.push("xab", out));
    CHECK(out == "x");
    CHECK_FALSE(matcher.push("xabc", out));
    CHECK(out == "xabx");
    CHECK_FALSE(matcher.push("x", out));
    CHECK(out == "xabxabcx");
    CHECK(matcher.finish().empty());
}

TEST_CASE("stop strings that no text can hold are refused") {
    CHECK_THROWS_WITH_AS(StopStrings({"a", ""}), "a stop string is empty, expected a text", ArgumentError);
    for (const char* stop : {"\x8E", "a\xC3", "\xFF", "\xED\xA0\x80"})
        CHECK_THROWS_WITH_AS(StopStrings({"a", stop}),
                             ("the stop string '" + std::string(stop) + "' is not UTF-8, which all text is").c_str(), ArgumentError);
    CHECK_NOTHROW(StopStrings({"\xC3\xA9", "\xF0\x9F\x8E\x89"}));
}

TEST_CASE("however a text is divided, it stops at the same place") {
    for (std::uint64_t seed = 0; seed < 2000; ++seed) {
        std::uint64_t counter = 0;
        const auto below = [&](std::size_t n) { return std::size_t(uniform(seed, counter++) * double(n)); };
        const auto letters = [&](std::size_t n) {
            std::string s;
            for (std::size_t i = 0; i < n; ++i) s += char('a' + below(2));
            return s;
        };
        std::vector<std::string> stops, pieces;
        for (std::size_t i = below(4); i > 0; --i) stops.push_back(letters(1 + below(6)));
        std::string text;
        for (std::size_t i = below(12); i > 0; --i) text += pieces.emplace_back(letters(below(5)));
        CHECK(run(stops, pieces) == naive(stops, text));
    }
}
