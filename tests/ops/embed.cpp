#include "support/random.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/embed.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("embed: the rows of the tokens, exact", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (int H : {1, 8, 57})
        for (int M : {0, 1, 200}) {
            const auto table = support::random<T>({23, H}, support::misaligned);
            const auto tokens = support::random_ids(M, 23);
            support::TestTensor<f32> x({M, H});
            ops::embed<T, CPU>(ctx, x, tokens, table);
            for (int m = 0; m < M; ++m)
                for (int i = 0; i < H; ++i) REQUIRE(x.row(m)[i] == f32(table.row(tokens[std::size_t(m)])[i]));
        }
}

TEST_CASE("embed: a token outside of the vocabulary is named") {
    Context<CPU> ctx(1);
    const auto table = support::random<bf16>({23, 4});
    support::TestTensor<f32> x({1, 4});
    const Token beyond = 23, negative = -1;
    CHECK_THROWS_WITH_AS((ops::embed<bf16, CPU>(ctx, x, {&beyond, 1}, table)), "embed: token 23 is outside of [0, 23), the vocabulary", ArgumentError);
    CHECK_THROWS_WITH_AS((ops::embed<bf16, CPU>(ctx, x, {&negative, 1}, table)), "embed: token -1 is outside of [0, 23), the vocabulary", ArgumentError);
    CHECK_THROWS_WITH_AS((ops::embed<bf16, CPU>(ctx, x, {}, table)), "embed: x has 1 rows for 0 tokens", ShapeError);
}
