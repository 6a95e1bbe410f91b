#pragma once
#include "utf8.hpp"
#include <string>
#include <string_view>

namespace l3::inline v0 {

/// Makes whole characters of bytes that arrive in any portions, as the bytes of tokens do.
/// Holds back the beginning of a character until the rest is there. Bytes that cannot become one are replaced by U+FFFD
/// (one for each longest beginning of a character, else for each byte) as soon as that is known, which is one byte later
/// at most; so garbage never holds up what follows. What push and finish return is valid UTF-8, and together it does not
/// depend on how the bytes were divided.
class Utf8Stream {
  public:
    /// The characters that these bytes complete.
    [[nodiscard]] std::string push(std::string_view bytes) {
        held_.append(bytes);
        const std::string_view text = held_;
        std::string out;
        std::size_t at = 0;
        while (at < text.size()) {
            const Utf8Unit unit = utf8_unit(text.substr(at));
            if (unit.kind == Utf8Unit::incomplete) break;
            out += unit.kind == Utf8Unit::character ? text.substr(at, unit.length) : utf8_replacement;
            at += unit.length;
        }
        held_.erase(0, at);
        return out;
    }

    /// What is left when no more bytes come: U+FFFD for the beginning of a character, or nothing.
    [[nodiscard]] std::string finish() {
        std::string out(held_.empty() ? std::string_view() : utf8_replacement);
        held_.clear();
        return out;
    }

  private:
    std::string held_;  // at most three bytes between calls
};

/// The text with every part that is not UTF-8 replaced by U+FFFD, as Utf8Stream does it.
[[nodiscard]] inline std::string valid_utf8(std::string_view text) {
    Utf8Stream stream;
    std::string out = stream.push(text);
    return out += stream.finish();
}

}  // namespace l3::inline v0
