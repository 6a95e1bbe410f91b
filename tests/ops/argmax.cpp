#include "support/random.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/argmax.hpp>
#include <limits>

using namespace l3;

TEST_CASE("argmax: the largest, the lowest index of equals, never NaN") {
    Context<CPU> ctx(1);
    constexpr f32 nan = std::numeric_limits<f32>::quiet_NaN(), inf = std::numeric_limits<f32>::infinity();
    const auto of = [&](std::vector<f32> x) { return ops::argmax<CPU>(ctx, {x.data(), {Index(x.size())}}); };
    CHECK(of({1, 3, 3, 2}) == 1);
    CHECK(of({-1}) == 0);
    CHECK(of({-inf, -inf}) == 0);
    CHECK(of({nan, -5, 2}) == 2);
    CHECK(of({1, nan, 0}) == 0);
    CHECK(of({nan, nan}) == 0);
    CHECK(of({0, inf, 3}) == 1);
    CHECK_THROWS_WITH_AS(of({}), "argmax of no logits", ShapeError);
    const auto x = support::random<f32>({1000});
    CHECK(ops::argmax<CPU>(ctx, x) == std::max_element(x.data(), x.data() + 1000) - x.data());
}
