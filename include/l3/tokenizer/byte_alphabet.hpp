#pragma once
// The printable characters that GPT-2's vocabulary writes bytes as: printable Latin-1 as itself, the other 68 bytes in
// order as U+0100 and on. Source: bytes_to_unicode in openai/gpt-2, encoder.py.
#include "utf8.hpp"
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace l3::inline v0::tokenizer {

/// The byte that each of the characters U+0000 to U+0143 stands for, -1 if none.
inline constexpr std::array<std::int16_t, 256 + 68> byte_of_character = [] {
    std::array<std::int16_t, 256 + 68> byte{};
    std::size_t next = 256;
    for (std::size_t b = 0; b < 256; ++b) {
        const bool printable = (b >= 0x21 && b <= 0x7E) || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;
        byte[b] = -1;
        byte[printable ? b : next++] = static_cast<std::int16_t>(b);
    }
    return byte;
}();

/// The bytes that a token's text stands for, or nothing if a character of it is not in the alphabet.
[[nodiscard]] inline std::optional<std::string> bytes_of(std::string_view text) {
    std::string bytes;
    bytes.reserve(text.size());
    while (!text.empty()) {
        const Utf8Unit unit = utf8_unit(text);
        if (unit.kind != Utf8Unit::character || unit.length > 2) return std::nullopt;
        const char32_t c = utf8_code_point(text);
        if (c >= byte_of_character.size() || byte_of_character[c] < 0) return std::nullopt;
        bytes += static_cast<char>(static_cast<unsigned char>(byte_of_character[c]));
        text.remove_prefix(unit.length);
    }
    return bytes;
}

}  // namespace l3::inline v0::tokenizer
