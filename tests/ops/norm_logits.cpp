#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/norm_logits.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("norm_logits: the logits of the rows asked for", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (int H : {20, 64, 1100})
        for (std::vector<int> rows : {std::vector<int>{0}, {4}, {4, 0, 2}, {0, 1, 2, 3, 4}}) {
            CAPTURE(H);
            const auto x = support::random<f32>({5, H}, support::aligned, 3), weight = support::random<f32>({H});
            const auto lm_head = support::random<T>({77, H});
            support::TestTensor<f32> logits({Index(rows.size()), 77});
            ops::norm_logits<T, CPU>(ctx, logits, x, rows, {weight, 1e-5f}, lm_head);
            const auto want = reference::norm_logits(x, rows, weight, 1e-5f, lm_head, reference::rounding_of<T>());
            REQUIRE(support::max_error(logits, want) <= support::product_tolerance<T>(H, 3));
        }
    ops::norm_logits<T, CPU>(ctx, support::TestTensor<f32>({0, 7}), support::random<f32>({2, 8}), {}, {support::random<f32>({8}), 0}, support::random<T>({7, 8}));
}

TEST_CASE("norm_logits: rows and shapes that do not fit are named") {
    Context<CPU> ctx(1);
    const auto x = support::random<f32>({2, 8}), weight = support::random<f32>({8});
    const auto lm_head = support::random<f32>({7, 8});
    support::TestTensor<f32> logits({1, 7});
    const int beyond = 2;
    CHECK_THROWS_WITH_AS((ops::norm_logits<f32, CPU>(ctx, logits, x, {&beyond, 1}, {weight, 0}, lm_head)), "norm_logits: row 2 of x [2, 8]", ArgumentError);
    CHECK_THROWS_WITH_AS((ops::norm_logits<f32, CPU>(ctx, logits, x, {}, {weight, 0}, lm_head)), "norm_logits: logits [1, 7] for 0 rows", ShapeError);
}
