#pragma once
// Reading numbers and strings one after another from bytes that cannot be trusted.
#include "../../core/error.hpp"
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace l3::inline v0::io {

/// A place in a file's bytes that moves on as values are read. Nothing is read, and no length believed, beyond the end.
class Cursor {
  public:
    static_assert(std::endian::native == std::endian::little, "numbers in model files are little-endian");

    /// name: the file, for messages.
    Cursor(std::span<const std::byte> bytes, std::string name) : bytes_(bytes), name_(std::move(name)) {}

    [[nodiscard]] std::uint64_t position() const { return at_; }
    [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - at_; }

    /// The next n bytes; what: for messages. Throws FormatError if they are not all there.
    std::span<const std::byte> take(std::uint64_t n, std::string_view what) {
        if (n > remaining())
            fail<FormatError>(name_, ": ", what, " needs ", n, " bytes at byte ", at_, ", of which there are ",
                              remaining(), ": the file is cut short (", bytes_.size(), " bytes) or malformed");
        const auto taken = bytes_.subspan(at_, n);
        at_ += n;
        return taken;
    }
    template <class N>
        requires std::is_arithmetic_v<N>
    N number(std::string_view what) {
        N value{};
        std::memcpy(&value, take(sizeof value, what).data(), sizeof value);
        return value;
    }
    /// A string with its length in 64 bits before it: a view of the file.
    std::string_view text(std::string_view what) {
        const auto length = number<std::uint64_t>(what);
        const auto taken = take(length, what);
        return {reinterpret_cast<const char*>(taken.data()), taken.size()};
    }
    /// A number of things to come, each of at least min_bytes. Throws FormatError if they cannot all be there.
    std::uint64_t count(std::uint64_t min_bytes, std::string_view what) {
        const auto n = number<std::uint64_t>(what);
        if (n > remaining() / min_bytes)
            fail<FormatError>(name_, ": ", what, " is ", n, ", more than fit the ", remaining(),
                              " bytes that follow: the file is cut short (", bytes_.size(), " bytes) or malformed");
        return n;
    }

  private:
    std::span<const std::byte> bytes_;
    std::string name_;
    std::uint64_t at_ = 0;
};

}  // namespace l3::inline v0::io
