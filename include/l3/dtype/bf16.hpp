#pragma once
#include "../core/config.hpp"
#include <bit>
#include <cstdint>

namespace l3::inline v0 {

using f32 = float;

/// The upper half of an f32: 1 sign, 8 exponent, 7 mantissa bits. A storage type; arithmetic happens in f32.
/// From f32: round to nearest even; NaN stays NaN (quiet); f32 subnormals become zero of the same sign, as in
/// the processors' own conversion. To f32: exact.
struct bf16 {
    std::uint16_t bits;

    bf16() = default;
    L3_HOST_DEVICE constexpr explicit bf16(f32 x) : bits(round(std::bit_cast<std::uint32_t>(x))) {}
    L3_HOST_DEVICE constexpr explicit operator f32() const { return std::bit_cast<f32>(std::uint32_t{bits} << 16); }
    L3_HOST_DEVICE static constexpr bf16 from_bits(std::uint16_t bits) {
        bf16 r{};
        r.bits = bits;
        return r;
    }
    /// The same bits (so a NaN equals itself, and 0 is not -0).
    friend constexpr bool operator==(bf16, bf16) = default;

  private:
    L3_HOST_DEVICE static constexpr std::uint16_t round(std::uint32_t u) {
        if ((u & 0x7FFFFFFFu) > 0x7F800000u) return std::uint16_t((u >> 16) | 0x40u);
        if ((u & 0x7F800000u) == 0) return std::uint16_t((u >> 16) & 0x8000u);
        return std::uint16_t((u + 0x7FFFu + ((u >> 16) & 1u)) >> 16);
    }
};
static_assert(sizeof(bf16) == 2 && alignof(bf16) == 2);

}  // namespace l3::inline v0
