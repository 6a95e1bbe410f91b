#include <bit>
#include <cmath>
#include <doctest/doctest.h>
#include <initializer_list>
#include <l3/dtype/bf16.hpp>
#include <limits>

using namespace l3;

namespace {
f32 from(std::uint32_t bits) { return std::bit_cast<f32>(bits); }
std::uint16_t rounded(std::uint32_t bits) { return bf16(from(bits)).bits; }
}  // namespace

TEST_CASE("acceptance F01: f32 to bf16 rounds to nearest even") {
    CHECK(rounded(0x3E89CCD5) == 0x3E8A);
    CHECK(rounded(0x3F808000) == 0x3F80);
    CHECK(rounded(0x3F818000) == 0x3F82);
    CHECK(rounded(0x3F808001) == 0x3F81);
    CHECK(rounded(0x7F7F7FFF) == 0x7F7F);
    CHECK(rounded(0x7F7F8000) == 0x7F80);
    CHECK(rounded(0x80000000) == 0x8000);
    CHECK(bf16(1.00390625f).bits == 0x3F80);
    // Against the nearest of the two neighbours in double, for every upper half and the ends and middle of the lower.
    int wrong = 0;
    for (std::uint32_t upper = 0; upper < 0x10000; ++upper) {
        const f32 below = from(upper << 16);
        if (!std::isnormal(below)) continue;
        for (std::uint32_t lower : {0u, 1u, 0x7FFFu, 0x8000u, 0x8001u, 0xFFFFu}) {
            const double x = from((upper << 16) | lower), down = below;
            const double step = std::ldexp(1.0, std::ilogb(below) - 7), up = down + std::copysign(step, down);
            const double to_down = std::abs(x - down), to_up = std::abs(up - x);
            const double want = to_down < to_up || (to_down == to_up && upper % 2 == 0) ? down : up;
            const double got = f32(bf16(f32(x)));
            const double limit = from(0x7F7F0000);
            wrong += !(std::abs(want) > limit ? std::isinf(got) : got == want);
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("acceptance F02: NaN stays NaN, quiet and of its sign; infinity stays infinity") {
    CHECK(rounded(0x7F800001) == 0x7FC0);
    CHECK(std::isnan(f32(bf16::from_bits(rounded(0x7FFFFFFF)))));
    CHECK(rounded(0xFF800001) == 0xFFC0);
    CHECK(rounded(0x7F800000) == 0x7F80);
    CHECK(rounded(0xFF800000) == 0xFF80);
}

TEST_CASE("bf16: f32 subnormals become zero of their sign") {
    CHECK(rounded(0x00000001) == 0x0000);
    CHECK(rounded(0x007FFFFF) == 0x0000);
    CHECK(rounded(0x807FFFFF) == 0x8000);
    CHECK(rounded(0x00800000) == 0x0080);
}

TEST_CASE("bf16: to f32 is exact, and back is the same for every value that is no NaN and no subnormal") {
    CHECK(f32(bf16::from_bits(0x7F7F)) == 3.3895313892515355e+38f);
    int wrong = 0;
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
        const bf16 x = bf16::from_bits(std::uint16_t(bits));
        const f32 wide = f32(x);
        wrong += std::bit_cast<std::uint32_t>(wide) != bits << 16;
        if (!std::isnan(wide) && std::fpclassify(wide) != FP_SUBNORMAL) wrong += !(bf16(wide) == x);
    }
    CHECK(wrong == 0);
}

TEST_CASE("bf16: equality is of bits") {
    CHECK(bf16(0.0f) == bf16(0.0f));
    CHECK(!(bf16(0.0f) == bf16(-0.0f)));
    CHECK(bf16::from_bits(0x7FC0) == bf16::from_bits(0x7FC0));
    static_assert(bf16(1.0f).bits == 0x3F80);
}
