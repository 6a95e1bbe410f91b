#pragma once
#include "config.hpp"
#include <cstddef>
#include <cstdint>

namespace l3::inline v0 {

/// Counts and positions of elements: 64 bits and signed, so that differences and products of dimensions are safe.
using Index = std::int64_t;

/// A token id: a row of the embedding.
using Token = std::int32_t;

/// ceil(a / b), for a >= 0 and b > 0.
template <class I>
[[nodiscard]] L3_HOST_DEVICE constexpr I ceil_div(I a, I b) {
    return I((a + b - 1) / b);
}

/// The smallest multiple of b that is at least a.
template <class I>
[[nodiscard]] L3_HOST_DEVICE constexpr I align_up(I a, I b) {
    return I(ceil_div(a, b) * b);
}

/// a * b, or false if the product does not fit 64 bits: sizes that come from files.
[[nodiscard]] constexpr bool multiply_checked(std::uint64_t a, std::uint64_t b, std::uint64_t& product) {
    return !__builtin_mul_overflow(a, b, &product);
}

}  // namespace l3::inline v0
