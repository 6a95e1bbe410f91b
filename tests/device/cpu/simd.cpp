#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference/contract.hpp"
#include <doctest/doctest.h>
#include <l3/device/cpu/simd.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("acceptance F12: loads and stores at any address", A, L3_TEST_ARCHITECTURES) {
    constexpr int width = simd::width<A>;
    alignas(64) f32 from[64 + 32], to[64 + 32];
    for (int i = 0; i < 96; ++i) from[i] = f32(i);
    for (int in = 0; in < 16; ++in)
        for (int out = 0; out < 16; ++out) {
            std::fill(std::begin(to), std::end(to), -1.0f);
            simd::store<A>(to + out, simd::load<A>(from + in));
            for (int i = 0; i < 96; ++i) REQUIRE(to[i] == (i >= out && i < out + width ? f32(i - out + in) : -1.0f));
        }
}

TEST_CASE_TEMPLATE("acceptance F12: comparisons, conversions and reductions of a register", A, L3_TEST_ARCHITECTURES) {
    const auto x = support::random<f32>({1, 16});
    const simd::F<A> v = simd::load<A>(x.data()), nan(std::numeric_limits<f32>::quiet_NaN());
    CHECK(xsimd::all(v == v));
    CHECK(!xsimd::any(v != v));
    CHECK(!xsimd::any(nan == nan));
    f32 back[16];
    simd::store<A>(back, simd::as<simd::F<A>>(simd::as<simd::U<A>>(simd::opaque(v))));
    CHECK(support::different_bits(back, x.data(), simd::width<A>) == 0);
}

TEST_CASE_TEMPLATE("simd: fma rounds once", A, L3_TEST_ARCHITECTURES) {
    // (1 + 2^-12)^2 - 1 needs 25 bits: rounded before the subtraction, the last one is lost.
    const simd::F<A> x(1 + 0x1p-12f), minus(-1.0f);
    f32 r[16];
    simd::store<A>(r, simd::fma<A>(x, x, minus));
    for (int i = 0; i < simd::width<A>; ++i) CHECK(r[i] == (support::is_fused<A> ? 0x1p-11f + 0x1p-24f : 0x1p-11f));
}

TEST_CASE_TEMPLATE("simd: sums of lanes go down the contract's tree", A, L3_TEST_ARCHITECTURES) {
    for (int count = 1; count <= 13; ++count) {
        const auto lanes = support::random<f32>({16, 16}, support::misaligned);
        f32 sums[16];
        std::fill(std::begin(sums), std::end(sums), -7.0f);
        simd::tree_sums<A>(lanes.data(), count, sums);
        for (int n = 0; n < count; ++n) {
            f32 copy[16];
            std::copy_n(lanes.row(n), 16, copy);
            REQUIRE(sums[n] == reference::contract::tree(copy));
            REQUIRE(simd::tree_sum<A>(simd::load_lanes<A>(lanes.row(n))) == sums[n]);
        }
        for (int n = count; n < 16; ++n) REQUIRE(sums[n] == -7.0f);
    }
}

TEST_CASE_TEMPLATE("simd: sixteen lanes, whatever the registers", A, L3_TEST_ARCHITECTURES) {
    const auto x = support::random<f32>({3, 16}, support::misaligned);
    f32 r[16];
    simd::store_lanes<A>(r, fma(simd::load_lanes<A>(x.row(0)), simd::load_lanes<A>(x.row(1)), simd::load_lanes<A>(x.row(2))));
    for (int i = 0; i < 16; ++i)
        if (support::is_fused<A>) CHECK(r[i] == std::fma(x.row(0)[i], x.row(1)[i], x.row(2)[i]));
        else CHECK(std::abs(r[i] - std::fma(x.row(0)[i], x.row(1)[i], x.row(2)[i])) <= 0x1p-23f);
    simd::store_lanes<A>(r, simd::map<A>([](auto a, auto b) { return a + b; }, simd::broadcast<A>(2.0f), simd::broadcast<A>(3.0f)));
    for (f32 y : r) CHECK(y == 5);
    CHECK(simd::parts<A> * simd::width<A> == 16);
}
