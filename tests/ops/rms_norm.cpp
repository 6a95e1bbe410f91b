#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/rms_norm.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("rms_norm is x / sqrt(mean(x^2) + eps) * weight, and the contract's bits", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (int M : {1, 3, 40})
        for (int H : support::lengths_around(16, 1024)) {
            CAPTURE(M); CAPTURE(H);
            const auto x = support::random<f32>({M, H}, support::misaligned, 3), weight = support::random<f32>({H}, support::misaligned);
            support::TestTensor<T> y({M, H}, support::misaligned), want({M, H});
            ops::rms_norm<T, CPU>(ctx, y, x, {weight, 1e-5f});
            const double size = std::sqrt(double(H));  // no element of a normed row is larger
            REQUIRE(support::max_error(y, reference::rms_norm(x, weight, 1e-5f)) <= support::rounded_tolerance<T>(size, 80 * 0x1p-24 * size));
            for (Index m = 0; m < M; ++m) reference::contract::rms_norm(want.row(m), x.row(m), weight.data(), H, 1e-5f);
            REQUIRE(support::different_bits(y.data(), want.data(), M * H) == 0);
        }
}

TEST_CASE("acceptance F05: norms are computed in f32, whatever the dtype") {
    // In bf16 the mean of 4096 squares of 1 + 2^-9 would be 1; the normed row would be above 1.
    Context<CPU> ctx(1);
    support::TestTensor<f32> x({1, 4096}), weight({4096});
    for (Index i = 0; i < 4096; ++i) x.data()[i] = 1 + 0x1p-9f, weight.data()[i] = 1;
    support::TestTensor<f32> y({1, 4096});
    ops::rms_norm<f32, CPU>(ctx, y, x, {weight, 0});
    for (Index i = 0; i < 4096; ++i) REQUIRE(std::abs(y.data()[i] - 1) <= 0x1p-22f);
}

TEST_CASE("rms_norm: a row of zeros is zeros, shapes that do not fit are named") {
    Context<CPU> ctx(1);
    support::TestTensor<f32> x({1, 20}), weight({20}), other({21});
    support::TestTensor<bf16> y({1, 20}), wide({1, 21});
    ops::rms_norm<bf16, CPU>(ctx, y, x, {weight, 1e-5f});
    for (Index i = 0; i < 20; ++i) CHECK(y.data()[i].bits == 0);
    CHECK_THROWS_WITH_AS((ops::rms_norm<bf16, CPU>(ctx, wide, x, {weight, 0})), "rms_norm: y [1, 21] and x [1, 20] differ", ShapeError);
    CHECK_THROWS_WITH_AS((ops::rms_norm<bf16, CPU>(ctx, y, x, {other, 0})), "rms_norm: x [1, 20] does not fit the weight [21]", ShapeError);
}
