#include <doctest/doctest.h>
#include <l3/ops/cpu/rope.hpp>
#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"

using namespace l3;

namespace {

struct Tables {
    support::TestTensor<f32> cos, sin;
    operator Rotary<CPU>() const { return {cos, sin}; }
};

std::vector<double> frequencies(Index half, double theta = 10000) {
    std::vector<double> inv_freq;
    for (Index i = 0; i < half; ++i) inv_freq.push_back(1 / elementary::pow(theta, double(i) / double(half)));
    return inv_freq;
}

Tables tables(Context<CPU>& ctx, Index half, Positions positions) {
    Tables t{support::TestTensor<f32>({positions.count, half}), support::TestTensor<f32>({positions.count, half})};
    ops::rope_table<CPU>(ctx, t.cos, t.sin, frequencies(half), positions);
    return t;
}

}  // namespace

TEST_CASE("rope_table is the cosine and sine of position times frequency, rounded once") {
    Context<CPU> ctx(1);
    for (Index half : {1, 3, 12, 32, 64})
        for (Index first : {0, 1, 1000, 100000, 1000000}) {
            CAPTURE(half);
            CAPTURE(first);
            const Tables t = tables(ctx, half, {first, 37});
            const auto exact = reference::rope_table(frequencies(half), first, 37);
            CHECK(support::max_error(t.cos, exact.cos) <= 0x1.01p-25);  // half a unit in the last place of numbers below 1
            CHECK(support::max_error(t.sin, exact.sin) <= 0x1.01p-25);
        }
}

TEST_CASE("rope_table: a position has the same bits beside any others, on any number of threads") {
    Context<CPU> one(1);
    const Tables all = tables(one, 32, {5, 300});
    for (int threads : {1, 2, 3, 5}) {
        Context<CPU> ctx(threads);
        for (Index chunk : {1, 7, 300})
            for (Index first = 0; first < 300; first += chunk) {
                const Index n = std::min(chunk, 300 - first);
                const Tables t = tables(ctx, 32, {5 + first, n});
                CHECK(support::different_bits(t.cos.data(), all.cos.row(first), n * 32) == 0);
                CHECK(support::different_bits(t.sin.data(), all.sin.row(first), n * 32) == 0);
            }
    }
}

TEST_CASE("rope rotates pairs of every head") {
    Context<CPU> ctx(2);
    for (int M : {1, 2, 33})
        for (int heads : {1, 3, 8})
            for (int half : {1, 3, 4, 12, 16, 31, 64}) {
                CAPTURE(M);
                CAPTURE(heads);
                CAPTURE(half);
                auto x = support::random<f32>({M, heads * 2 * half}, support::misaligned);
                const auto before = x.clone();
                const Tables t = tables(ctx, half, {17, M});
                ops::rope<CPU>(ctx, x, t);
                // Two products and a sum of numbers up to 1.
                CHECK(support::max_error(x, reference::rope(before, t.cos, t.sin, 2 * half)) <= 3 * 0x1p-24);
            }
}

#if defined(L3_TEST_FUSED_ARCHITECTURES)
TEST_CASE_TEMPLATE("rope has the bits of the contract", A, L3_TEST_FUSED_ARCHITECTURES) {
    for (int half = 1; half <= 40; ++half) {
        auto x = support::random<f32>({1, 2 * half}), angles = support::random<f32>({2, half}), expected = x.clone();
        cpu::in_float_mode([&] { cpu::rotate_head<A>(x.data(), angles.row(0), angles.row(1), half); });
        for (int i = 0; i < half; ++i)
            reference::contract::rope(expected.data()[i], expected.data()[half + i], angles.row(0)[i], angles.row(1)[i]);
        CHECK(support::different_bits(x.data(), expected.data(), 2 * half) == 0);
    }
}
#endif

TEST_CASE("acceptance F05: rope at position 100000 is accurate") {
    Context<CPU> ctx(1);
    auto x = support::random<f32>({1, 128});
    const auto before = x.clone();
    ops::rope<CPU>(ctx, x, tables(ctx, 64, {100000, 1}));
    const auto exact = reference::rope_table(frequencies(64), 100000, 1);
    CHECK(support::max_error(x, reference::rope(before, exact.cos, exact.sin, 128)) < 1e-5);
}

TEST_CASE("rope: shapes that do not fit are named") {
    Context<CPU> ctx(1);
    support::TestTensor<f32> x({2, 64}), cos({2, 24}), sin({2, 24}), other({2, 12});
    CHECK_THROWS_WITH_AS((ops::rope<CPU>(ctx, x, {cos, sin})), "rope: x [2, 64] does not fit tables of [2, 24]", ShapeError);
    CHECK_THROWS_WITH_AS((ops::rope<CPU>(ctx, x, {cos, other})), "rope: cos [2, 24] and sin [2, 12] differ", ShapeError);
    const std::vector<double> inv_freq(24);
    CHECK_THROWS_WITH_AS((ops::rope_table<CPU>(ctx, cos, other, inv_freq, {0, 2})),
                         "rope_table: cos [2, 24] and sin [2, 12] differ", ShapeError);
    CHECK_THROWS_WITH_AS((ops::rope_table<CPU>(ctx, cos, sin, inv_freq, {0, 3})),
                         "rope_table: cos [2, 24] for 3 positions and 24 frequencies", ShapeError);
    CHECK_THROWS_WITH_AS((ops::rope_table<CPU>(ctx, cos, sin, inv_freq, {-1, 2})),
                         "rope_table: a first position of -1", ShapeError);
}
