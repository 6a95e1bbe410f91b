#pragma once
// What is particular to f32 in registers: its step of the canonical dot.
#include "dot.hpp"

namespace l3::inline v0::simd {

/// f32: lane i does acc = fma(w[i], x[i], acc).
template <class A>
struct Dot<f32, A> {
    static constexpr int step = 16;
    static constexpr int part = width<A>;
    using Input = f32;
    static constexpr int registers = 1, packed = part;

    L3_INLINE static void pack(f32* out, const f32* x, Index = packed) { simd::store<A>(out, simd::load<A>(x)); }

    template <int M, int N>
    L3_INLINE static void accumulate(Grid<F<A>, M, N>& acc, const f32* x, const Row<const f32*, N>& w) {
        Row<F<A>, M> xs;
        L3_UNROLL
        for (int m = 0; m < M; ++m) xs[m] = opaque(simd::load<A>(x + m * part));
        L3_UNROLL
        for (int n = 0; n < N; ++n) {
            const F<A> ws = opaque(simd::load<A>(w[n]));
            L3_UNROLL
            for (int m = 0; m < M; ++m) acc[m][n] = simd::fma<A>(ws, xs[m], acc[m][n]);
        }
    }
};

/// a . b by the canonical dot of f32, for vectors that are not packed: the sum of squares of a norm.
template <class A>
L3_INLINE f32 dot(const f32* a, const f32* b, Index K) {
    f32 sum = 0;
    for (Index begin = 0; begin < K; begin += dot_chunk) {
        const Index end = begin + dot_chunk < K ? begin + dot_chunk : K;
        Lanes<A> acc = broadcast<A>(0.0f);
        Index k = begin;
        for (; k + 16 <= end; k += 16) acc = fma(load_lanes<A>(a + k), load_lanes<A>(b + k), acc);
        if (k < end) {
            alignas(64) f32 rest[2][16] = {};
            std::memcpy(rest[0], a + k, std::size_t(end - k) * sizeof(f32));
            std::memcpy(rest[1], b + k, std::size_t(end - k) * sizeof(f32));
            acc = fma(load_lanes<A>(rest[0]), load_lanes<A>(rest[1]), acc);
        }
        const f32 lanes = tree_sum(acc);
        sum = begin ? sum + lanes : lanes;
    }
    return sum;
}

}  // namespace l3::inline v0::simd
