#pragma once
#include "config.hpp"
#include <cstddef>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>

namespace l3::inline v0 {

/// The base of everything l3 throws. The text says what was attempted, what was found, what was expected, and where.
struct Error : std::runtime_error { using std::runtime_error::runtime_error; };

/// A file or directory cannot be opened, read or mapped.
struct IoError : Error { using Error::Error; };
/// A file is not what it claims to be: cut short, malformed, or contradicting itself.
struct FormatError : Error { using Error::Error; };
/// Well-formed, but something l3 does not know; named, never guessed.
struct UnsupportedError : Error { using Error::Error; };
/// Tensors of the caller that do not fit together.
struct ShapeError : Error { using Error::Error; };
/// An argument or option outside of what it may be.
struct ArgumentError : Error { using Error::Error; };
/// More tokens than the context holds; thrown before any work.
struct ContextFullError : ArgumentError { using ArgumentError::ArgumentError; };
/// Logits that are not numbers, or none that can be chosen.
struct NumericError : Error { using Error::Error; };
/// A std::stop_token or a callback asked to stop. What was evaluated before stays usable.
struct CancelledError : Error { using Error::Error; };
/// The device is missing, or cannot run what was compiled for it.
struct DeviceError : Error { using Error::Error; };
/// Memory that could not be had.
struct OutOfMemoryError : Error {
    OutOfMemoryError(const std::string& text, std::size_t requested) : Error(text), requested_bytes(requested) {}
    std::size_t requested_bytes;
};

/// Puts values together as one text: message("tensor '", name, "' has ", n, " rows").
template <class... Parts>
[[nodiscard]] std::string message(const Parts&... parts) {
    std::ostringstream out;
    out.imbue(std::locale::classic());  // a host's locale must not put separators into numbers
    (out << ... << parts);
    return std::move(out).str();
}

/// Throws E with this text.
template <class E, class... Parts>
[[noreturn]] L3_NOINLINE void fail(const Parts&... parts) {
    throw E(message(parts...));
}

/// Throws E unless the condition holds. The text is put together only then.
template <class E = ShapeError, class... Parts>
L3_INLINE constexpr void require(bool condition, const Parts&... parts) {
    if (!condition) [[unlikely]] fail<E>(parts...);
}

}  // namespace l3::inline v0
