#include <doctest/doctest.h>
#include <l3/tokenizer/byte_alphabet.hpp>
#include "synthetic.hpp"

using namespace l3;

TEST_CASE("byte alphabet: every byte has one character") {
    std::string all;
    for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
    CHECK(tokenizer::bytes_of(synthetic::written(all)) == all);
    CHECK(tokenizer::bytes_of("\xC4\xA0the\xC4\x8A") == " the\n");       // U+0120, U+010A
    CHECK(tokenizer::bytes_of("\xC3\x83\xC2\xA9") == "\xC3\xA9");        // e with acute, written byte by byte
    CHECK(tokenizer::bytes_of("\xC5\x83") == "\xAD");                    // U+0143, the last
    CHECK(tokenizer::bytes_of("") == "");
}

TEST_CASE("byte alphabet: other characters stand for no byte") {
    for (const char* text : {" ", "\n", "\x7F", "\xC2\xA0", "\xC2\xAD", "\xC5\x84", "\xE2\x96\x81", "a\xE6\x97\xA5", "\xFF", "\xC4"})
        CHECK(tokenizer::bytes_of(text) == std::nullopt);
}
