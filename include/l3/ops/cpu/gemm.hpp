#pragma once
#include "gemv.hpp"

namespace l3::inline v0::cpu {

/// Tokens that share one pass over a group of rows, so that their inputs stay in the second-level cache.
template <class A> inline constexpr Index group_tokens = 16 * tile_tokens<A>;

/// The most blocks of tokens for which rows of W are read in place: packing them takes as long as some tiles.
inline constexpr Index blocks_in_place = 5;

/// Packs a chunk of up to tile_rows rows of W, from element k, as PackedInput packs a block of tokens:
/// [part][step][register of a part][row][register]. Rows beyond `count` and elements beyond K are zeros.
template <class A, DType T>
L3_INLINE void pack_panel(typename simd::Dot<T, A>::Input* panel, const T* const* rows, int count, Index k, Index K,
                          Index steps) {
    using Dot = simd::Dot<T, A>;
    constexpr int part = Dot::part, packed = Dot::packed, step = Dot::step, N = tile_rows<A>;
    const auto copy = [&](const T* from, Index s, int n) {
        L3_UNROLL
        for (int p = 0; p < simd::parts<A>; ++p)
            Dot::pack(panel + (Index{p} * steps + s) * N * part + n * packed, from + p * part, N * packed);
    };
    const Index whole = (K - k) / step < steps ? (K - k) / step : steps;
    for (int n = 0; n < N; ++n) {
        alignas(64) simd::Row<T, step> rest = {};
        for (Index s = 0; s < steps; ++s) {
            if (n < count && s < whole) copy(rows[n] + k + s * step, s, n);
            else {
                if (n < count) std::memcpy(rest, rows[n] + k + s * step, std::size_t(K - k - s * step) * sizeof(T));
                copy(rest, s, n);
            }
        }
    }
}

/// The sums of a tile in registers: one part of the sixteen lanes of each token and row.
template <class A> using TileSums = simd::Grid<simd::F<A>, tile_tokens<A>, tile_rows<A>>;

template <class A>
L3_INLINE void clear(TileSums<A>& sums) {
    L3_UNROLL
    for (auto& of_token : sums)
        L3_UNROLL
        for (simd::F<A>& sum : of_token) sum = simd::F<A>(0.0f);
}
/// Stores them as part p of lanes[token][row][16].
template <class A>
L3_INLINE void store_part(f32* lanes, int p, const TileSums<A>& sums) {
    constexpr int M = tile_tokens<A>, N = tile_rows<A>;
    L3_UNROLL
    for (int m = 0; m < M; ++m)
        L3_UNROLL
        for (int n = 0; n < N; ++n) simd::store<A>(lanes + (m * N + n) * 16 + p * simd::width<A>, sums[m][n]);
}

/// lanes[token][row][16]: the lanes of one chunk of the canonical dot, for a tile of tokens and rows whose packed
/// registers of a part are `registers`. Where bf16 is widened by packing, its products are those of f32.
template <class A, DType Input>
L3_NOINLINE void tile(const Input* x, const Input* panel, Index registers, f32* lanes) {
    using Dot = simd::Dot<Input, A>;
    constexpr int part = Dot::part, M = tile_tokens<A>, N = tile_rows<A>;
    static_assert(Dot::registers == 1);
    for (int p = 0; p < simd::parts<A>; ++p) {
        TileSums<A> acc;
        clear<A>(acc);
        for (Index r = 0; r < registers; ++r, x += M * part, panel += N * part) {
            simd::Row<const Input*, N> w;
            L3_UNROLL
            for (int n = 0; n < N; ++n) w[n] = panel + n * part;
            Dot::template accumulate<M, N>(acc, x, w);
        }
        store_part<A>(lanes, p, acc);
    }
}

/// The same with rows of W in place, from element k, `count` of them. Lanes of rows beyond `count` mean nothing.
template <class A, DType T>
L3_NOINLINE void tile_in_place(const typename simd::Dot<T, A>::Input* x, const T* const* rows, int count, Index k, Index K,
                               Index steps, f32* lanes) {
    using Dot = simd::Dot<T, A>;
    constexpr int part = Dot::part, step = Dot::step, M = tile_tokens<A>, N = tile_rows<A>;
    const Index whole = (K - k) / step < steps ? (K - k) / step : steps;
    simd::Row<const T*, N> w, at;
    alignas(64) simd::Grid<T, N, step> rest;
    for (int n = 0; n < N; ++n) w[n] = rows[n < count ? n : 0] + k;
    if (whole < steps) {
        std::memset(rest, 0, sizeof rest);
        for (int n = 0; n < N; ++n) std::memcpy(rest[n], w[n] + whole * step, std::size_t(K - k - whole * step) * sizeof(T));
    }
    for (int p = 0; p < simd::parts<A>; ++p) {
        TileSums<A> acc;
        clear<A>(acc);
        for (Index s = 0; s < whole; ++s, x += M * part) {
            L3_UNROLL
            for (int n = 0; n < N; ++n) at[n] = w[n] + s * step + p * part;
            Dot::template accumulate<M, N>(acc, x, at);
        }
        if (whole < steps) {
            L3_UNROLL
            for (int n = 0; n < N; ++n) at[n] = rest[n] + p * part;
            Dot::template accumulate<M, N>(acc, x, at);
            x += M * part;
        }
        store_part<A>(lanes, p, acc);
    }
}

/// dots[token * ld + n] = the canonical dot of rows[n] with each token of blocks [first, first + blocks) of x.
/// Writes whole tiles: blocks * tile_tokens rows of dots, and up to the next multiple of tile_rows columns.
template <class A, DType T>
L3_NOINLINE void gemm_rows(const T* const* rows, int count, const PackedInput<T, A>& x, Index first, Index blocks,
                           typename simd::Dot<T, A>::Input* panel, f32* dots, Index ld) {
    using Dot = simd::Dot<T, A>;
    constexpr int M = tile_tokens<A>, N = tile_rows<A>;
    if (x.K() == 0) std::fill_n(dots, blocks * M * ld, 0.0f);
    for (Index k = 0; k < x.K(); k += simd::dot_chunk) {
        const Index steps = x.steps(k);
        for (int n = 0; n < count; n += N) {
            const int some = count - n < N ? count - n : N;
            const bool in_place = blocks <= blocks_in_place;
            if (!in_place) pack_panel<A, T>(panel, rows + n, some, k, x.K(), steps);
            for (Index b = 0; b < blocks; ++b) {
                alignas(64) simd::Row<f32, M * N * 16> lanes;
                simd::Grid<f32, M, N> sums;
                if (in_place) tile_in_place<A, T>(x.chunk(first + b, k), rows + n, some, k, x.K(), steps, lanes);
                else tile<A>(x.chunk(first + b, k), panel, steps * Dot::registers, lanes);
                simd::tree_sums<A>(lanes, M * N, sums[0]);
                for (int m = 0; m < M; ++m) {
                    f32* out = dots + (b * M + m) * ld + n;
                    for (int j = 0; j < N; ++j) out[j] = k ? out[j] + sums[m][j] : sums[m][j];
                }
            }
        }
    }
}

/// The matrix product under every operation with weights, for one token or many: each dot of an input with a row of
/// weights is the canonical dot, so that its bits depend on nothing else.
/// The rows come in `items` of at most `item_rows` that an operation wants together (a head, rows of two matrices):
/// rows_of(item, const T** rows) says where they lie and returns how many there are. The dots of a group of tokens go to
/// epilogue(item, first_token, tokens, f32* dots, ld), row-major, to be finished and stored where they belong.
template <DType T, class RowsOf, class Epilogue>
void gemm(Context<CPU>& ctx, const PackedInput<T>& x, Index items, Index item_rows, RowsOf rows_of, Epilogue epilogue) {
    using A = arch::native;
    using Input = typename PackedInput<T>::Input;
    static_assert(tile_rows<A> * tile_tokens<A> % 4 == 0);
    if (x.tokens() == 0) return;
    const Index group = x.tokens() == 1 ? 1 : std::min<Index>(group_tokens<A>, x.blocks() * x.block_tokens());
    const Index groups = ceil_div(x.tokens(), group);
    // Epilogues may read whole registers past the last column.
    const Index ld = align_up<Index>(align_up<Index>(item_rows, tile_rows<A>) + 16, 16), slot_dots = group * ld;
    const Index slot_panel = align_up<Index>(tile_rows<A> * simd::dot_chunk, 64);
    f32* all_dots = ctx.scratch<f32>(Scratch::dots, ctx.threads() * slot_dots);
    Input* all_panels = ctx.scratch<Input>(Scratch::packed_weights, ctx.threads() * slot_panel);
    const T** all_rows = ctx.scratch<const T*>(Scratch::row_pointers, ctx.threads() * align_up<Index>(item_rows, 8));

    const Index item_work = item_rows * x.K() * Index{sizeof(T)} * group;
    ctx.parallel(items * groups, ceil_div<Index>(work_per_thread, item_work + 1), [&](Index begin, Index end, int slot) {
        f32* dots = all_dots + slot * slot_dots;
        const T** rows = all_rows + slot * align_up<Index>(item_rows, 8);
        for (Index i = begin; i < end; ++i) {
            const Index item = i / groups, token = i % groups * group;
            const Index tokens = std::min(group, x.tokens() - token);
            const int count = rows_of(item, rows);
            if (x.tokens() == 1) {
                gemv<A, T>(rows, count, x, dots);
            } else {
                gemm_rows<A, T>(rows, count, x, token / tile_tokens<A>, ceil_div<Index>(tokens, tile_tokens<A>),
                                all_panels + slot * slot_panel, dots, ld);
            }
            epilogue(item, token, tokens, dots, ld);
        }
    });
}

/// gemm over the rows of one matrix, in items of 48 rows or so: epilogue(token, first_row, rows, dots) for each token.
template <DType T, class Epilogue>
void gemm(Context<CPU>& ctx, const PackedInput<T>& x, TensorView<const T, CPU> W, Epilogue epilogue) {
    const Index linear_rows = x.tokens() == 1 ? 96 : 48;
    const auto rows_in = [&W, linear_rows](Index item) { return std::min(linear_rows, W.rows() - item * linear_rows); };
    gemm<T>(
        ctx, x, ceil_div(W.rows(), linear_rows), linear_rows,
        [&](Index item, const T** rows) {
            for (Index r = 0; r < rows_in(item); ++r) rows[r] = W.row(item * linear_rows + r);
            return int(rows_in(item));
        },
        [&](Index item, Index token, Index tokens, const f32* dots, Index ld) {
            for (Index m = 0; m < tokens; ++m) epilogue(token + m, item * linear_rows, rows_in(item), dots + m * ld);
        });
}

}  // namespace l3::inline v0::cpu
