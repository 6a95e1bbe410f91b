#include "support/random.hpp"
#include <doctest/doctest.h>
#include <l3/tensor/copy.hpp>

using namespace l3;

TEST_CASE("copy: the same elements, rounded once where the type is narrower") {
    const auto x = support::random<f32>({7, 33});
    Tensor<f32, CPU> same({7, 33}), back({7, 33});
    Tensor<bf16, CPU> narrow({7, 33}), again({7, 33});
    copy(same, x);
    copy(narrow, x);
    copy(back, narrow);
    copy(again, back);
    CHECK(support::different_bits(same.data(), x.data(), x.numel()) == 0);
    CHECK(support::different_bits(again.data(), narrow.data(), x.numel()) == 0);
    for (Index i = 0; i < x.numel(); ++i) REQUIRE(narrow.data()[i].bits == support::bf16_bits(x.data()[i]));
    CHECK_THROWS_WITH_AS(copy(same, Tensor<f32, CPU>({33, 7})), "copy: [33, 7] to [7, 33]", ShapeError);
}
