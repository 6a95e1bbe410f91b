#pragma once
// What an expression throws, as text: tests of errors are tests of their words.
#include <exception>
#include <initializer_list>
#include <string>
#include <string_view>

namespace support {

/// The text of the E that f throws; a text that says so if it throws something else, or nothing.
template <class E, class F>
std::string error_text(const F& f) {
    try {
        f();
    } catch (const E& e) {
        return e.what();
    } catch (const std::exception& e) {
        return std::string("(an exception of another type: ") + e.what() + ")";
    }
    return "(no exception)";
}

/// True if all of these are in the text.
inline bool mentions(std::string_view text, std::initializer_list<std::string_view> parts) {
    for (std::string_view part : parts)
        if (text.find(part) == text.npos) return false;
    return true;
}

}  // namespace support
