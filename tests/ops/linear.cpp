#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/linear.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("linear is a * W^T + bias", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (int M : {1, 2, 5, 66})
        for (int N : {1, 7, 49, 100})
            for (int K : {1, 31, 32, 33, 1056}) {
                CAPTURE(M); CAPTURE(N); CAPTURE(K);
                const auto a = support::random<T>({M, K}, support::misaligned), W = support::random<T>({N, K});
                const auto bias = support::random<f32>({N});
                support::TestTensor<f32> y({M, N});
                ops::linear<T, CPU>(ctx, y, a, W);
                REQUIRE(support::max_error(y, reference::linear(a, W)) <= support::dot_tolerance<T>(K));
                ops::linear<T, CPU>(ctx, y, a, W, bias);
                REQUIRE(support::max_error(y, reference::linear(a, W, bias)) <= support::dot_tolerance<T>(K) + 0x1p-23);
            }
}

TEST_CASE("linear: shapes that do not fit are named") {
    Context<CPU> ctx(1);
    support::TestTensor<f32> y({2, 3});
    const auto a = support::random<bf16>({2, 8}), W = support::random<bf16>({4, 8});
    CHECK_THROWS_WITH_AS((ops::linear<bf16, CPU>(ctx, y, a, W)), "linear: y, a [2, 3], [2, 8] do not fit W [4, 8]", ShapeError);
}
