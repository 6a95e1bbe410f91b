#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference/contract.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/gemm.hpp>
#include <l3/tensor/tensor.hpp>

using namespace l3;

namespace {

template <class T, class A>
void check_gemm_rows() {
    Context<CPU> ctx(1);
    constexpr Index ld = 64;
    for (int K : support::lengths_around(32, 1024))
        for (int N : {1, 4, 5, 6, 7, 13}) {
            constexpr Index M = 9;
            const auto x = support::random<T>({M, K}, support::misaligned), W = support::random<T>({N, K}, support::misaligned);
            const cpu::PackedInput<T, A> packed(ctx, M, K);
            std::vector<const T*> rows;
            for (int n = 0; n < N; ++n) rows.push_back(W.row(n));
            Tensor<f32, CPU> dots({packed.blocks() * packed.block_tokens(), ld});
            Tensor<typename simd::Dot<T, A>::Input, CPU> panel({cpu::tile_rows<A>, simd::dot_chunk});
            ctx.serial([&] {
                for (Index m = 0; m < dots.rows(); ++m) packed.pack(m, m < M ? x.row(m) : nullptr);
                cpu::gemm_rows<A, T>(rows.data(), N, packed, 0, packed.blocks(), panel.data(), dots.data(), ld);
            });
            Index wrong = 0;
            for (Index m = 0; m < M; ++m)
                for (int n = 0; n < N; ++n) {
                    const f32 want = reference::contract::dot(W.row(n), x.row(m), K), got = dots.row(m)[n];
                    wrong += support::is_fused<A> ? got != want : std::abs(got - want) > support::dot_tolerance<T>(K);
                }
            CAPTURE(K); CAPTURE(N);
            REQUIRE(wrong == 0);
        }
}

}  // namespace

TEST_CASE_TEMPLATE("gemm: each dot of a tile is the canonical dot, in every instruction set and dtype", A, L3_TEST_ARCHITECTURES) {
    check_gemm_rows<bf16, A>();
    check_gemm_rows<f32, A>();
}

TEST_CASE_TEMPLATE("acceptance F07: a product has the same bits for any number of tokens and threads", T, bf16, f32) {
    for (Index K : {40, 1100}) {
        constexpr Index M = 70, N = 101;
        const auto x = support::random<T>({M, K}), W = support::random<T>({N, K});
        Tensor<f32, CPU> want({M, N});
        for (Index m = 0; m < M; ++m)
            for (Index n = 0; n < N; ++n) want.row(m)[n] = reference::contract::dot(W.row(n), x.row(m), K);
        for (int threads : {1, 2, 3, 5}) {
            Context<CPU> ctx(threads);
            for (Index tokens : {Index{1}, Index{2}, Index{3}, Index{7}, Index{33}, M}) {
                CAPTURE(K); CAPTURE(threads); CAPTURE(tokens);
                Tensor<f32, CPU> got({tokens, N});
                const TensorView<const T, CPU> some(x.row(M - tokens), {tokens, K});
                cpu::gemm<T>(ctx, cpu::pack<T>(ctx, some), W, [&](Index m, Index first, Index count, const f32* dots) {
                    std::copy_n(dots, count, got.row(m) + first);
                });
                REQUIRE(support::different_bits(got.data(), want.row(M - tokens), tokens * N) == 0);
            }
        }
    }
}

TEST_CASE_TEMPLATE("acceptance G07: the tokens of a prompt share each pass over the weights", T, bf16, f32) {
    // rows_of is asked for an item's rows once for each pass over them.
    constexpr Index N = 100, K = 64, item_rows = 10, group = cpu::group_tokens<arch::native>;
    const auto W = support::random<T>({N, K});
    for (Index M : {Index{1}, Index{2}, group, group + 1, 4 * group}) {
        const auto x = support::random<T>({M, K});
        Context<CPU> ctx(2);
        std::atomic<Index> passes{0}, dots{0};
        cpu::gemm<T>(
            ctx, cpu::pack<T>(ctx, x), N / item_rows, item_rows,
            [&](Index item, const T** rows) {
                ++passes;
                for (Index r = 0; r < item_rows; ++r) rows[r] = W.row(item * item_rows + r);
                return int(item_rows);
            },
            [&](Index, Index, Index tokens, const f32*, Index) { dots += tokens * item_rows; });
        CAPTURE(M);
        CHECK(passes == N / item_rows * ceil_div(M, group));
        CHECK(dots == M * N);
    }
}
