#pragma once
// Queries times keys. Lanes are positions, so that a score is summed in one lane, dimensions ascending.
#include "../../../device/cpu/simd_bf16.hpp"
#include "../../../device/cpu/simd_f32.hpp"

namespace l3::inline v0::cpu {

/// Rows (a query head of a token each) that share every load of keys and values.
inline constexpr int row_tile = 4;
/// Absolute positions in a block of the softmax.
inline constexpr int block_positions = 256;
/// Sums of lanes that a kernel keeps in registers.
template <class A>
inline constexpr int accumulators = A::register_count == 32 ? 16 : 8;

/// One step along the dimensions of a score for one dtype.
///
///     dims         dimensions of a step
///     keys         elements of a group of 16 positions in a step
///     Query        what queries are packed as: [step][query][row]
///     queries      numbers of one row in a step
///     pack         one step of one row, to query[0], query[rows], ...
///     accumulate   acc[r][n] = one step of row r with the positions of register n: parts of G groups `group` apart
template <DType T, class A>
struct KeyStep;

namespace detail {

/// acc[r][n] = fma(dim[n], q[r], acc[r][n]).
template <class A, int R, int N>
L3_INLINE void add_dimension(simd::Grid<simd::F<A>, R, N>& acc, const simd::Row<simd::F<A>, N>& dim, const f32* q) {
    L3_UNROLL
    for (int r = 0; r < R; ++r) {
        const simd::F<A> query(q[r]);
        L3_UNROLL
        for (int n = 0; n < N; ++n) acc[r][n] = simd::fma<A>(dim[n], query, acc[r][n]);
    }
}

}  // namespace detail

/// bf16: acc = fma(k[2i+1], q[2i+1], acc), then acc = fma(k[2i], q[2i], acc); natively one vdpbf16ps.
template <class A>
struct KeyStep<bf16, A> {
    static constexpr int dims = 2, keys = 32;
    static constexpr bool native = arch::has_bf16_dot<A>;
    using Query = std::conditional_t<native, std::int32_t, f32>;
    static constexpr int queries = native ? 1 : 2;

    L3_INLINE static void pack(Query* query, int rows, const bf16* q) {
        if constexpr (native) {
            std::memcpy(query, q, sizeof(Query));
        } else {
            query[0] = f32(q[1]);
            query[rows] = f32(q[0]);
        }
    }

    template <int R, int N>
    L3_INLINE static void accumulate(simd::Grid<simd::F<A>, R, N>& acc, const Query* q, const bf16* k, Index group) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
        if constexpr (native) {
            __m512bh pairs[std::size_t(N)];
            L3_UNROLL
            for (int n = 0; n < N; ++n) pairs[n] = (__m512bh)_mm512_loadu_si512(k + n * group);
            L3_UNROLL
            for (int r = 0; r < R; ++r) {
                const auto query = (__m512bh)_mm512_set1_epi32(q[r]);
                L3_UNROLL
                for (int n = 0; n < N; ++n) acc[r][n] = _mm512_dpbf16_ps(acc[r][n], pairs[n], query);
            }
            return;
        }
#endif
        if constexpr (!native) {
            const auto words = [&](int n) {
                constexpr int P = simd::parts<A>;
                return simd::load_words<A>(k + n / P * group + n % P * 2 * simd::width<A>);
            };
            simd::Row<simd::F<A>, N> dim;
            L3_UNROLL
            for (int n = 0; n < N; ++n) dim[n] = simd::opaque(simd::odd<A>(words(n)));
            detail::add_dimension<A, R, N>(acc, dim, q);
            L3_UNROLL
            for (int n = 0; n < N; ++n) dim[n] = simd::opaque(simd::even<A>(words(n)));
            detail::add_dimension<A, R, N>(acc, dim, q + R);
        }
    }
};

/// f32: acc = fma(k[i], q[i], acc).
template <class A>
struct KeyStep<f32, A> {
    static constexpr int dims = 1, keys = 16;
    using Query = f32;
    static constexpr int queries = 1;

    L3_INLINE static void pack(f32* query, int, const f32* q) { *query = *q; }

    template <int R, int N>
    L3_INLINE static void accumulate(simd::Grid<simd::F<A>, R, N>& acc, const f32* q, const f32* k, Index group) {
        constexpr int P = simd::parts<A>;
        simd::Row<simd::F<A>, N> dim;
        L3_UNROLL
        for (int n = 0; n < N; ++n) dim[n] = simd::opaque(simd::load<A>(k + n / P * group + n % P * simd::width<A>));
        detail::add_dimension<A, R, N>(acc, dim, q);
    }
};

namespace detail {

template <class A, DType T, int R, int G>
L3_INLINE void score_groups(const typename KeyStep<T, A>::Query* q, const T* k, Index Dh, f32 scale, f32* scores,
                            Index ahead) {
    using Step = KeyStep<T, A>;
    constexpr int N = G * simd::parts<A>;
    const Index group = 16 * Dh;
    simd::Grid<simd::F<A>, R, N> acc;
    L3_UNROLL
    for (int r = 0; r < R; ++r)
        L3_UNROLL
        for (int n = 0; n < N; ++n) acc[r][n] = simd::F<A>(0.0f);
    for (Index d = 0; d < Dh; d += Step::dims, q += R * Step::queries, k += Step::keys) {
        L3_UNROLL
        for (int g = 0; g < G; ++g) __builtin_prefetch(reinterpret_cast<const char*>(k + g * group) + ahead, 0, 3);
        Step::template accumulate<R, N>(acc, q, k, group);
    }
    L3_UNROLL
    for (int r = 0; r < R; ++r)
        L3_UNROLL
        for (int n = 0; n < N; ++n) {
            const simd::F<A> scaled = simd::opaque(acc[r][n] * simd::F<A>(scale));
            simd::store<A>(scores + r * block_positions + n * simd::width<A>, scaled);
        }
}

template <class A, DType T, int R>
L3_NOINLINE void score_kernel(const typename KeyStep<T, A>::Query* q, const T* k, Index Dh, Index groups, f32 scale,
                              f32* scores, Index ahead) {
    // Groups at a time, so that there are sums enough in flight and not more than registers.
    constexpr int fit = accumulators<A> / (R * simd::parts<A>), G = fit >= 8 ? 8 : fit >= 4 ? 4 : fit >= 2 ? 2 : 1;
    Index g = 0;
    for (; g + G <= groups; g += G) score_groups<A, T, R, G>(q, k + g * 16 * Dh, Dh, scale, scores + g * 16, ahead);
    if constexpr (G > 1)
        for (; g < groups; ++g) score_groups<A, T, R, 1>(q, k + g * 16 * Dh, Dh, scale, scores + g * 16, ahead);
}

}  // namespace detail

/// scores[r][position] = scale * (q[r] . k[position]) for `groups` groups of 16 positions and 1 to row_tile rows.
/// scores: rows of block_positions. Prefetches as much of what lies `ahead` bytes after the keys.
template <class A, DType T>
L3_INLINE void score_rows(Index rows, const typename KeyStep<T, A>::Query* q, const T* k, Index Dh, Index groups,
                          f32 scale, f32* scores, Index ahead) {
    static_assert(row_tile == 4);
    switch (rows) {
        case 1: return detail::score_kernel<A, T, 1>(q, k, Dh, groups, scale, scores, ahead);
        case 2: return detail::score_kernel<A, T, 2>(q, k, Dh, groups, scale, scores, ahead);
        case 3: return detail::score_kernel<A, T, 3>(q, k, Dh, groups, scale, scores, ahead);
        default: return detail::score_kernel<A, T, 4>(q, k, Dh, groups, scale, scores, ahead);
    }
}

}  // namespace l3::inline v0::cpu
