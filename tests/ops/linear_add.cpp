#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/linear_add.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("linear_add is x + a * W^T + bias", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (int M : {1, 2, 7, 33})
        for (int H : {1, 6, 50})
            for (int K : support::lengths_around(32, 1024)) {
                CAPTURE(M); CAPTURE(H); CAPTURE(K);
                const auto x = support::random<f32>({M, H}), before = x.clone(), bias = support::random<f32>({H});
                const auto a = support::random<T>({M, K}), W = support::random<T>({H, K}, support::misaligned);
                ops::linear_add<T, CPU>(ctx, x, a, W);
                REQUIRE(support::max_error(x, reference::linear_add(before, a, W)) <= support::dot_tolerance<T>(K));
                const auto with_bias = before.clone();
                ops::linear_add<T, CPU>(ctx, with_bias, a, W, bias);
                REQUIRE(support::max_error(with_bias, reference::linear_add(before, a, W, bias)) <= support::dot_tolerance<T>(K, 1, 1) + 0x1p-22);
            }
}

TEST_CASE_TEMPLATE("linear_add: a row has the same bits beside any other rows, on any number of threads", T, bf16, f32) {
    constexpr Index M = 40, H = 130, K = 1100;
    const auto x = support::random<f32>({M, H});
    const auto a = support::random<T>({M, K}), W = support::random<T>({H, K});
    Context<CPU> one(1);
    const auto all = x.clone();
    ops::linear_add<T, CPU>(one, all, a, W);
    for (int threads : {1, 2, 3, 5}) {
        Context<CPU> ctx(threads);
        for (Index step : {1, 3, 16}) {
            const auto split = x.clone();
            for (Index m = 0; m < M; m += step) {
                const Index end = std::min(M, m + step);
                ops::linear_add<T, CPU>(ctx, split.slice_rows(m, end), a.slice_rows(m, end), W);
            }
            CHECK(support::different_bits(split.data(), all.data(), M * H) == 0);
        }
    }
}

TEST_CASE("linear_add: shapes that do not fit are named") {
    Context<CPU> ctx(1);
    const auto x = support::random<f32>({2, 32}), three = support::random<f32>({3, 32});
    const auto a = support::random<f32>({2, 64}), W = support::random<f32>({32, 65}), V = support::random<f32>({32, 64});
    CHECK_THROWS_WITH_AS((ops::linear_add<f32, CPU>(ctx, x, a, W)), "linear_add: x, a [2, 32], [2, 64] do not fit W [32, 65]", ShapeError);
    CHECK_THROWS_WITH_AS((ops::linear_add<f32, CPU>(ctx, three, a, V)), "linear_add: x has 3 rows, a has 2", ShapeError);
    CHECK_THROWS_WITH_AS((ops::linear_add<f32, CPU>(ctx, x, a, V, TensorView<const f32, CPU>(x.data(), {31}))), "linear_add: bias [31] does not fit W [32, 64]", ShapeError);
}

TEST_CASE("linear_add: no rows, no columns") {
    Context<CPU> ctx(2);
    const auto x = support::random<f32>({3, 5}), before = x.clone();
    ops::linear_add<bf16, CPU>(ctx, x, support::TestTensor<bf16>({3, 0}), support::TestTensor<bf16>({5, 0}));
    CHECK(support::different_bits(x.data(), before.data(), 15) == 0);
    ops::linear_add<bf16, CPU>(ctx, support::TestTensor<f32>({0, 5}), support::TestTensor<bf16>({0, 8}), support::TestTensor<bf16>({5, 8}));
}
