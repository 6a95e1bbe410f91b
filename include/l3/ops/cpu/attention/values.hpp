#pragma once
// Probabilities times values. Lanes are dimensions, positions ascending.
#include "keys.hpp"

namespace l3::inline v0::cpu {

/// How a register of values is widened for one dtype. `registers` registers of f32 come from one load of `dims`
/// dimensions; bf16: first the even ones, then the odd ones. Outputs are summed in that order.
template <DType T, class A>
struct ValueLoad;

template <class A>
struct ValueLoad<bf16, A> {
    static constexpr int registers = 2, dims = 2 * simd::width<A>;

    L3_INLINE static void load(simd::F<A>* v, const bf16* p) {
        const simd::U<A> words = simd::load_words<A>(p);
        v[0] = simd::opaque(simd::even<A>(words));
        v[1] = simd::opaque(simd::odd<A>(words));
    }
    /// Stores `dims` dimensions in their natural order.
    L3_INLINE static void store(bf16* p, const simd::F<A>* v) {
        bf16 halves[2][simd::width<A>];
        simd::store<A>(halves[0], v[0]);
        simd::store<A>(halves[1], v[1]);
        L3_UNROLL
        for (int i = 0; i < simd::width<A>; ++i) {
            p[2 * i] = halves[0][i];
            p[2 * i + 1] = halves[1][i];
        }
    }
};

template <class A>
struct ValueLoad<f32, A> {
    static constexpr int registers = 1, dims = simd::width<A>;

    L3_INLINE static void load(simd::F<A>* v, const f32* p) { v[0] = simd::opaque(simd::load<A>(p)); }
    L3_INLINE static void store(f32* p, const simd::F<A>* v) { simd::store<A>(p, v[0]); }
};

namespace detail {

template <class A, DType T, int R, int loads>
L3_INLINE void value_pass(f32* o, Index stride, const f32* p, const T* v, Index Dh, Index count, Index ahead) {
    using Load = ValueLoad<T, A>;
    constexpr int N = loads * Load::registers;
    simd::Grid<simd::F<A>, R, N> acc;
    L3_UNROLL
    for (int r = 0; r < R; ++r)
        L3_UNROLL
        for (int n = 0; n < N; ++n) acc[r][n] = simd::load<A>(o + r * stride + n * simd::width<A>);
    for (Index t = 0; t < count; ++t, v += Dh) {
        simd::Row<simd::F<A>, N> values;
        L3_UNROLL
        for (int i = 0; i < loads; ++i) {
            __builtin_prefetch(reinterpret_cast<const char*>(v + i * Load::dims) + ahead, 0, 2);
            Load::load(values + i * Load::registers, v + i * Load::dims);
        }
        L3_UNROLL
        for (int r = 0; r < R; ++r) {
            const simd::F<A> probability(p[r * block_positions + t]);
            L3_UNROLL
            for (int n = 0; n < N; ++n) acc[r][n] = simd::fma<A>(probability, values[n], acc[r][n]);
        }
    }
    L3_UNROLL
    for (int r = 0; r < R; ++r)
        L3_UNROLL
        for (int n = 0; n < N; ++n) simd::store<A>(o + r * stride + n * simd::width<A>, acc[r][n]);
}

/// Passes over `loads` loads at a time from dimension d on, then over half as many, down to one.
template <class A, DType T, int R, int loads>
L3_INLINE void value_passes(f32* o, Index stride, const f32* p, const T* v, Index Dh, Index count, Index ahead,
                            Index d) {
    constexpr int dims = loads * ValueLoad<T, A>::dims;
    for (; d + dims <= Dh || (loads == 1 && d < Dh); d += dims)
        value_pass<A, T, R, loads>(o + d, stride, p, v + d, Dh, count, ahead);
    if constexpr (loads > 1) value_passes<A, T, R, loads / 2>(o, stride, p, v, Dh, count, ahead, d);
}

template <class A, DType T, int R>
L3_NOINLINE void value_kernel(f32* o, Index stride, const f32* p, const T* v, Index Dh, Index count, Index ahead) {
    constexpr int fit = accumulators<A> / (R * ValueLoad<T, A>::registers);
    constexpr int loads = fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
    value_passes<A, T, R, loads>(o, stride, p, v, Dh, count, ahead, 0);
}

}  // namespace detail

/// o[r] += sum of p[r][t] * v[t] over `count` positions, for 1 to row_tile rows.
/// o: rows `stride` apart, in ValueLoad's order; p: rows of block_positions.
/// Prefetches as much of what lies `ahead` bytes after the values.
template <class A, DType T>
L3_INLINE void add_values(Index rows, f32* o, Index stride, const f32* p, const T* v, Index Dh, Index count,
                          Index ahead) {
    static_assert(row_tile == 4);
    if (count <= 0) return;
    switch (rows) {
        case 1: return detail::value_kernel<A, T, 1>(o, stride, p, v, Dh, count, ahead);
        case 2: return detail::value_kernel<A, T, 2>(o, stride, p, v, Dh, count, ahead);
        case 3: return detail::value_kernel<A, T, 3>(o, stride, p, v, Dh, count, ahead);
        default: return detail::value_kernel<A, T, 4>(o, stride, p, v, Dh, count, ahead);
    }
}

}  // namespace l3::inline v0::cpu
