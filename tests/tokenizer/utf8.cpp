#include <doctest/doctest.h>
#include <l3/tokenizer/utf8.hpp>

using namespace l3;

namespace {

struct Unit {
    Utf8Unit::Kind kind;
    std::size_t length;
    friend bool operator==(const Unit&, const Unit&) = default;
};
Unit unit(std::string_view text) {
    const Utf8Unit u = utf8_unit(text);
    return {u.kind, u.length};
}

}  // namespace

TEST_CASE("utf8: every code point is one character, and the code point is read back") {
    for (char32_t c = 0; c <= 0x10FFFF; ++c) {
        if (c >= 0xD800 && c < 0xE000) continue;
        std::string text;
        append_utf8(text, c);
        const std::size_t length = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        REQUIRE(text.size() == length);
        REQUIRE(unit(text + "x") == Unit{Utf8Unit::character, length});
        REQUIRE(utf8_code_point(text) == c);
        for (std::size_t cut = 1; cut < length; ++cut) {
            REQUIRE(unit(text.substr(0, cut)) == Unit{Utf8Unit::incomplete, cut});
            REQUIRE(unit(text.substr(0, cut) + "x") == Unit{Utf8Unit::invalid, cut});
        }
    }
}

TEST_CASE("utf8: bytes that begin no character") {
    CHECK(unit("\x80") == Unit{Utf8Unit::invalid, 1});
    CHECK(unit("\xC0\x80") == Unit{Utf8Unit::invalid, 1});          // a longer spelling of U+0000
    CHECK(unit("\xC1\xBF") == Unit{Utf8Unit::invalid, 1});
    CHECK(unit("\xE0\x9F\xBF") == Unit{Utf8Unit::invalid, 1});      // of U+07FF
    CHECK(unit("\xF0\x8F\xBF\xBF") == Unit{Utf8Unit::invalid, 1});  // of U+FFFF
    CHECK(unit("\xED\xA0\x80") == Unit{Utf8Unit::invalid, 1});      // a surrogate
    CHECK(unit("\xF4\x90\x80\x80") == Unit{Utf8Unit::invalid, 1});  // U+110000
    CHECK(unit("\xF5") == Unit{Utf8Unit::invalid, 1});
    CHECK(unit("\xF0\x9F\x98\xC3") == Unit{Utf8Unit::invalid, 3});
}

TEST_CASE("utf8_prefix: up to the first byte that is no part of a whole character, wherever it is") {
    CHECK(utf8_prefix("") == 0);
    for (std::size_t at = 0; at < 40; ++at) {
        for (const std::string_view filler : {"a", "\xC3\xA9", "\xF0\x9F\x99\x82"}) {
            std::string text;
            while (text.size() < at) text += filler;
            const std::size_t valid = text.size();
            CHECK(utf8_prefix(text) == valid);
            CHECK(utf8_prefix(text + "\xFFpadding padding") == valid);
            CHECK(utf8_prefix(text + "\xE6\xAD") == valid);
        }
    }
}
