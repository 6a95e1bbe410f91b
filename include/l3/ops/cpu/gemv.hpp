#pragma once
#include "pack.hpp"

namespace l3::inline v0::cpu {

/// gemv, R rows at a time, fetching elements `ahead` of those in use.
template <class A, int R, Index ahead, DType T>
L3_INLINE void gemv_rows(const T* const* rows, int count, const PackedInput<T, A>& x, f32* dots) {
    using Dot = simd::Dot<T, A>;
    constexpr int parts = simd::parts<A>, part = Dot::part, step = Dot::step;
    for (int n = 0; n < count; n += R) {
        simd::Row<const T*, R> w;
        for (int r = 0; r < R; ++r) w[r] = rows[n + r < count ? n + r : n];  // beyond the end: the same row again
        f32 sums[4] = {};
        for (Index k = 0; k < x.K(); k += simd::dot_chunk) {
            const Index steps = x.steps(k), whole = (x.K() - k) / step < steps ? (x.K() - k) / step : steps;
            const auto* in = x.chunk(0, k);
            simd::Row<simd::Grid<simd::F<A>, 1, R>, parts> acc;
            L3_UNROLL
            for (int p = 0; p < parts; ++p)
                L3_UNROLL
                for (int r = 0; r < R; ++r) acc[p][0][r] = simd::F<A>(0.0f);
            for (Index s = 0; s < whole; ++s) {
                if constexpr (ahead > 0) {
                    L3_UNROLL
                    for (int r = 0; r < R; ++r) __builtin_prefetch(w[r] + k + s * step + ahead, 0, 3);
                }
                L3_UNROLL
                for (int p = 0; p < parts; ++p) {
                    simd::Row<const T*, R> at;
                    L3_UNROLL
                    for (int r = 0; r < R; ++r) at[r] = w[r] + k + s * step + p * part;
                    Dot::template accumulate<1, R>(acc[p], in + (p * steps + s) * part, at);
                }
            }
            if (whole < steps) {
                alignas(64) simd::Grid<T, R, step> rest = {};
                const Index begin = k + whole * step;
                for (int r = 0; r < R; ++r) std::memcpy(rest[r], w[r] + begin, std::size_t(x.K() - begin) * sizeof(T));
                L3_UNROLL
                for (int p = 0; p < parts; ++p) {
                    simd::Row<const T*, R> at;
                    L3_UNROLL
                    for (int r = 0; r < R; ++r) at[r] = rest[r] + p * part;
                    Dot::template accumulate<1, R>(acc[p], in + (p * steps + whole) * part, at);
                }
            }
            alignas(64) f32 lanes[4][16] = {}, chunk[4];
            L3_UNROLL
            for (int p = 0; p < parts; ++p)
                L3_UNROLL
                for (int r = 0; r < R; ++r) simd::store<A>(lanes[r] + p * simd::width<A>, acc[p][0][r]);
            simd::tree_sums<A>(lanes[0], R, chunk);
            for (int r = 0; r < R; ++r) sums[r] = k ? sums[r] + chunk[r] : chunk[r];
        }
        for (int r = 0; r < R && n + r < count; ++r) dots[n + r] = sums[r];
    }
}

/// dots[n] = the canonical dot of rows[n] [K] with the one token of x. Reads each row once, in place.
template <class A, DType T>
L3_NOINLINE void gemv(const T* const* rows, int count, const PackedInput<T, A>& x, f32* dots) {
    constexpr Index in_bytes = sizeof(T);
    // Wide registers keep up with one stream of memory, which the processor fetches ahead by itself. Narrow ones need
    // the sums of several rows in flight; but of short rows that would be as many short streams.
    if constexpr (simd::parts<A> == 1) gemv_rows<A, 1, 0>(rows, count, x, dots);
    else if (x.K() * in_bytes < 4096) gemv_rows<A, 1, 2048 / in_bytes>(rows, count, x, dots);
    else gemv_rows<A, 4, 16384 / in_bytes>(rows, count, x, dots);
}

}  // namespace l3::inline v0::cpu
