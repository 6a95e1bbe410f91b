#include <doctest/doctest.h>
#include <l3/tokenizer/utf8_stream.hpp>

using namespace l3;

TEST_CASE("acceptance B04: a character is shown when it is whole, garbage one character later at the latest") {
    Utf8Stream smile;
    CHECK(smile.push("\xF0") == "");
    CHECK(smile.push("\x9F") == "");
    CHECK(smile.push("\x98") == "");
    CHECK(smile.push("\x80") == "\xF0\x9F\x98\x80");
    CHECK(smile.finish() == "");

    Utf8Stream broken;
    CHECK(broken.push("\xE6") == "");
    CHECK(broken.push("\xAD") == "");
    CHECK(broken.push("a") == "\xEF\xBF\xBD" "a");

    Utf8Stream lone;
    CHECK(lone.push("\x80") == "\xEF\xBF\xBD");  // can begin nothing: at once
    CHECK(lone.push("\xE6\xAD\xE6") == "\xEF\xBF\xBD");
    CHECK(lone.finish() == "\xEF\xBF\xBD");
    CHECK(lone.finish() == "");
}

TEST_CASE("Utf8Stream: how bytes are divided does not matter, and what comes out is UTF-8") {
    std::uint64_t state = 1;
    const auto random = [&state](std::uint64_t n) {  // a linear congruential generator will do
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
    };
    const std::string_view parts[] = {"a", "\xC3\xA9", "\xE6\xAD\xA3", "\xF0\x9F\x98\x80", "\xFF", "\xE6", "\xF0\x9F", "\x80"};
    for (int round = 0; round < 500; ++round) {
        std::string bytes;
        for (std::uint64_t n = random(30); n > 0; --n) bytes += parts[random(std::size(parts))];
        Utf8Stream stream;
        std::string together;
        for (std::size_t at = 0; at < bytes.size();) {
            const std::size_t n = random(4);
            together += stream.push(std::string_view(bytes).substr(at, n));
            CHECK(utf8_prefix(together) == together.size());
            at += n;
        }
        together += stream.finish();
        CHECK(together == valid_utf8(bytes));
        CHECK(utf8_prefix(together) == together.size());
        if (utf8_prefix(bytes) == bytes.size()) CHECK(together == bytes);
    }
    CHECK(valid_utf8("a\xE6\xAD" "b\xFF\xFE") == "a\xEF\xBF\xBD" "b\xEF\xBF\xBD\xEF\xBF\xBD");
}
