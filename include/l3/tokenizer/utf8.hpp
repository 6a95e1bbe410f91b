#pragma once
// UTF-8, one character at a time (Unicode 15, table 3-7: well-formed byte sequences).
#include "../core/config.hpp"
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace l3::inline v0 {

/// U+FFFD, which stands for bytes that are no character.
inline constexpr std::string_view utf8_replacement = "\xEF\xBF\xBD";

/// What stands at the front of a text: a character; the beginning of one, at the end of the text; or bytes that are
/// neither: the longest beginning of a character that what follows does not continue, or a single byte.
struct Utf8Unit {
    enum Kind : std::uint8_t { character, incomplete, invalid } kind;
    std::size_t length;  ///< in bytes
};

/// Looks at the front of a text that is not empty.
[[nodiscard]] constexpr Utf8Unit utf8_unit(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned lead = byte(0);
    if (lead < 0x80) return {Utf8Unit::character, 1};
    if (lead < 0xC2 || lead > 0xF4) return {Utf8Unit::invalid, 1};
    const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    // The second byte excludes longer spellings of small values, surrogates, and what is beyond U+10FFFF.
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size()) return {Utf8Unit::incomplete, i};
        if (byte(i) < (i == 1 ? low : 0x80) || byte(i) > (i == 1 ? high : 0xBF)) return {Utf8Unit::invalid, i};
    }
    return {Utf8Unit::character, length};
}

/// The number of bytes at the front of a text that are whole characters.
[[nodiscard]] inline std::size_t utf8_prefix(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        std::uint64_t eight = ~std::uint64_t{0};
        if (text.size() - at >= sizeof eight) std::memcpy(&eight, text.data() + at, sizeof eight);
        if ((eight & 0x8080808080808080) == 0) {  // ASCII, as most text is
            at += sizeof eight;
            continue;
        }
        const Utf8Unit unit = utf8_unit(text.substr(at));
        if (unit.kind != Utf8Unit::character) break;
        at += unit.length;
    }
    return at;
}

/// The code point of the character at the front of a text that begins with one.
[[nodiscard]] constexpr char32_t utf8_code_point(std::string_view text) {
    const auto bits = [&](std::size_t i) { return char32_t{static_cast<unsigned char>(text[i])} & 0x3F; };
    const auto lead = static_cast<unsigned char>(text[0]);
    if (lead < 0x80) return lead;
    if (lead < 0xE0) return (char32_t{lead} & 0x1F) << 6 | bits(1);
    if (lead < 0xF0) return (char32_t{lead} & 0x0F) << 12 | bits(1) << 6 | bits(2);
    return (char32_t{lead} & 0x07) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
}

/// Appends a code point (no surrogate, at most U+10FFFF).
constexpr void append_utf8(std::string& out, char32_t c) {
    const auto put = [&](char32_t byte) { out += static_cast<char>(static_cast<unsigned char>(byte)); };
    if (c < 0x80) {
        put(c);
    } else if (c < 0x800) {
        put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
        put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    }
}

}  // namespace l3::inline v0
