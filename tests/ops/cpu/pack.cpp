#include "support/architectures.hpp"
#include "support/random.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/pack.hpp>

using namespace l3;

namespace {

/// Element k of a token, read back from where the layout of PackedInput says it is.
template <class T, class A>
f32 element(const cpu::PackedInput<T, A>& x, Index token, Index k) {
    using Dot = simd::Dot<T, A>;
    const Index chunk = k / simd::dot_chunk * simd::dot_chunk, step = (k - chunk) / Dot::step, in_step = (k - chunk) % Dot::step;
    const Index part = in_step / Dot::part, at = in_step % Dot::part, B = x.block_tokens();
    const auto* unit = x.chunk(token / B, chunk) + (part * x.steps(chunk) + step) * B * Dot::part;
    if constexpr (std::is_same_v<T, f32> || arch::has_bf16_dot<A>) return f32(unit[token % B * Dot::part + at]);
    else return unit[((at % 2 ? 0 : B) + token % B) * simd::width<A> + at / 2];  // odd elements first, then even ones
}

template <class T, class A>
void check_pack() {
    Context<CPU> ctx(1);
    for (Index M : {1, 2, 3, 4, 5, 9})
        for (int K : support::lengths_around(32, 1024)) {
            const auto x = support::random<T>({M, K}, support::misaligned);
            const cpu::PackedInput<T, A> packed(ctx, M, K);
            REQUIRE(reinterpret_cast<std::uintptr_t>(packed.chunk(0, 0)) % 64 == 0);
            const Index all = packed.blocks() * packed.block_tokens();
            for (Index m = 0; m < all; ++m) packed.pack(m, m < M ? x.row(m) : nullptr);
            Index wrong = 0;
            for (Index m = 0; m < all; ++m)
                for (Index k = 0; k < align_up<Index>(K, simd::Dot<T, A>::step); ++k)
                    wrong += element(packed, m, k) != (m < M && k < K ? f32(x.row(m)[k]) : 0.0f);
            CAPTURE(M); CAPTURE(K);
            REQUIRE(wrong == 0);
        }
}

}  // namespace

TEST_CASE_TEMPLATE("pack: every element at its place, zeros up to whole steps and tiles", A, L3_TEST_ARCHITECTURES) {
    check_pack<bf16, A>();
    check_pack<f32, A>();
}
