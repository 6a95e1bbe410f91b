#include <doctest/doctest.h>
#include <l3/io/gguf/cursor.hpp>
#include "support/error_text.hpp"

using namespace l3;

TEST_CASE("Cursor reads numbers and strings at any alignment, and stops at the end") {
    const std::string bytes(
        "\x01\x02\x03\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00xyz\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", 25);
    io::Cursor cursor(std::as_bytes(std::span(bytes)), "x.gguf");
    CHECK(cursor.number<std::uint8_t>("a byte") == 1);
    CHECK(cursor.number<std::uint32_t>("a number") == 0x000302);
    CHECK(cursor.number<std::int8_t>("a byte") == 0);
    CHECK(cursor.text("a name") == "xyz");
    CHECK(cursor.position() == 17);
    CHECK(cursor.remaining() == 8);
    const auto text = [](const auto& f) { return support::error_text<FormatError>(f); };
    io::Cursor copy = cursor;
    CHECK(text([&] { (void)copy.text("a name"); }) ==
          "x.gguf: a name needs 18446744073709551615 bytes at byte 25, of which there are 0: the file is cut short (25 "
          "bytes) or malformed");
    copy = cursor;
    CHECK(text([&] { (void)copy.count(1, "the number of things"); }) ==
          "x.gguf: the number of things is 18446744073709551615, more than fit the 0 bytes that follow: the file is "
          "cut short"
          " (25 bytes) or malformed");
    CHECK(cursor.take(8, "all").size() == 8);
    CHECK(cursor.take(0, "nothing").empty());
    CHECK(support::mentions(text([&] { (void)cursor.number<std::uint8_t>("one more"); }),
                            {"x.gguf: one more needs 1 bytes at byte 25"}));
}

TEST_CASE("Cursor believes a count that can be true, and no other") {
    for (std::uint64_t n : {0u, 1u, 2u, 3u}) {
        std::string bytes(8 + 8, '\0');
        std::memcpy(bytes.data(), &n, sizeof n);
        io::Cursor cursor(std::as_bytes(std::span(bytes)), "x.gguf");
        std::uint64_t found = 0;
        const std::string text = support::error_text<FormatError>([&] { found = cursor.count(4, "n"); });
        CHECK(found == (n <= 2 ? n : 0));
        CHECK((text == "(no exception)") == (n <= 2));
    }
}
