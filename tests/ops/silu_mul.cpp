#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/silu_mul.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("silu_mul is silu(gate) * up, and the contract's bits", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (int M : {1, 3})
        for (int F : support::lengths_around(16, 1024)) {
            CAPTURE(M); CAPTURE(F);
            const auto gate = support::random<f32>({M, F}, support::misaligned, 30), up = support::random<f32>({M, F}, support::aligned, 3);
            support::TestTensor<T> h({M, F}, support::misaligned);
            ops::silu_mul<T, CPU>(ctx, h, gate, up);
            // exp, sum, quotient and product: a few roundings of f32 relative to the result.
            REQUIRE(support::max_error(h, reference::silu_mul(gate, up)) <= support::rounded_tolerance<T>(90, 90 * 6 * 0x1p-24));
            for (Index i = 0; i < h.numel(); ++i) {
                const T want = reference::contract::round_to<T>(
                    reference::contract::silu_mul(gate.data()[i], up.data()[i], [](f32 x) { return simd::exp(x); }));
                REQUIRE(support::different_bits(h.data() + i, &want, 1) == 0);
            }
        }
}

TEST_CASE("acceptance F10: silu at the ends of the range") {
    Context<CPU> ctx(1);
    support::TestTensor<f32> gate({1, 4}), up({1, 4}), h({1, 4});
    const f32 values[] = {-1e4f, 1e4f, -88.8f, 0};
    for (int i = 0; i < 4; ++i) gate.data()[i] = values[i], up.data()[i] = 1;
    ops::silu_mul<f32, CPU>(ctx, h, gate, up);
    CHECK(h.data()[0] == 0);
    CHECK(h.data()[1] == 1e4f);
    CHECK(h.data()[2] <= 0);
    CHECK(std::isfinite(h.data()[2]));
    CHECK(h.data()[3] == 0);
}

TEST_CASE("silu_mul: shapes that do not fit are named") {
    Context<CPU> ctx(1);
    const auto gate = support::random<f32>({2, 8}), up = support::random<f32>({2, 7});
    support::TestTensor<f32> h({2, 8});
    CHECK_THROWS_WITH_AS((ops::silu_mul<f32, CPU>(ctx, h, gate, up)), "silu_mul: h [2, 8], gate [2, 8], up [2, 7] differ", ShapeError);
}
