#pragma once
// What of a tokenizer file's pattern PCRE2 understands otherwise than the engine it was written for (Oniguruma).
#include "../../core/error.hpp"
#include <algorithm>
#include <string>
#include <string_view>

namespace l3::inline v0::tokenizer {

/// The characters with the property White_Space (Unicode 15), for a character class; PCRE2's \s has U+180E besides.
inline constexpr std::string_view white_space_class =
    R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
/// All others.
inline constexpr std::string_view no_white_space_class =
    R"(\x{0}-\x{8}\x{e}-\x{1f}\x{21}-\x{84}\x{86}-\x{9f}\x{a1}-\x{167f}\x{1681}-\x{1fff}\x{200b}-\x{2027}\x{202a}-\x{202e})"
    R"(\x{2030}-\x{205e}\x{2060}-\x{2fff}\x{3001}-\x{10ffff})";

[[nodiscard]] constexpr bool is_white_space(char32_t c) {
    return (c >= 0x9 && c <= 0xD) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) ||
           c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

/// The pattern of a tokenizer file as PCRE2 must read it: \s and \S become lists of the characters they stand for,
/// inside of character classes too; the rest stays as it is.
/// Throws UnsupportedError for what both engines accept and understand differently: sets within sets, \h, {n,m}+ and {,m}.
[[nodiscard]] inline std::string translate_pattern(std::string_view pattern) {
    std::string out;
    bool in_class = false;
    const auto refuse = [&](std::string_view what) {
        fail<UnsupportedError>("the pattern \"", pattern, "\" uses ", what, ", which l3 does not know");
    };
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const std::string_view rest = pattern.substr(i);
        if (rest[0] == '\\' && rest.size() > 1) {
            const char c = rest[1];
            if (c == 'h' || c == 'H') refuse("\\h");
            if (c == 's' || c == 'S') {
                const bool list_only = in_class;
                if (!list_only) out += '[';
                out += c == 's' ? white_space_class : no_white_space_class;
                if (!list_only) out += ']';
            } else {  // with what belongs to it: \p{L}, \x{a0}
                const bool braces = (c == 'p' || c == 'P' || c == 'x') && rest.substr(2).starts_with('{');
                const std::size_t length = braces ? std::min(rest.find('}'), rest.size() - 1) + 1 : 2;
                out += rest.substr(0, length);
                i += length - 2;
            }
            ++i;
        } else if (!in_class) {
            if (rest.starts_with("}+")) refuse("'+' behind an interval");
            if (rest.starts_with("{,")) refuse("an interval without a lower end");
            in_class = rest[0] == '[';
            out += rest[0];
            if (in_class && rest.substr(1).starts_with('^')) out += pattern[++i];
            // A bracket right at the beginning of a class is one of its characters.
            if (in_class && pattern.substr(i + 1).starts_with(']')) out += '\\', out += pattern[++i];
        } else if (rest.starts_with("[:")) {
            const std::size_t end = rest.find(":]");
            if (end == rest.npos) refuse("'[' inside of a character class");
            out += rest.substr(0, end + 2);
            i += end + 1;
        } else {
            if (rest[0] == '[') refuse("a character class inside of a character class");
            if (rest.starts_with("&&")) refuse("an intersection of character classes (&&)");
            in_class = rest[0] != ']';
            out += rest[0];
        }
    }
    return out;
}

}  // namespace l3::inline v0::tokenizer
