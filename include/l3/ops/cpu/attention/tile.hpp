#pragma once
// A tile of attention: some tokens and all query heads of one key-value head, block of positions by block.
#include "../../../device/cpu/context.hpp"
#include "../../../device/cpu/simd_math.hpp"
#include "../../attention.hpp"
#include "values.hpp"

namespace l3::inline v0::cpu {

/// Some rows of a call: a row is a query head of a token, tokens outermost.
struct AttentionTile {
    int kv_head;
    Index first_token, first_position, rows;
};

/// One call of attention, and how it is cut. A tile has the rows of up to `tile_tokens` tokens for one key-value head,
/// and never crosses a border of blocks.
template <DType T>
struct AttentionCall {
    T* out;
    const T* q;
    KVView<T, CPU> kv;
    Positions positions;
    Index heads;            // Nq
    Index group;            // query heads of a key-value head
    Index tile_tokens = 1;  // a power of two, so that it divides a block
    f32 scale;

    AttentionCall(TensorView<T, CPU> out_, TensorView<const T, CPU> q_, const KVView<T, CPU>& kv_, Positions positions_)
        : out(out_.data()),
          q(q_.data()),
          kv(kv_),
          positions(positions_),
          heads(q_.cols() / kv_.head_dim),
          group(heads / kv_.num_key_value_heads),
          scale(f32(1 / std::sqrt(double(kv_.head_dim)))) {
        constexpr Index most_rows = 32;
        while (tile_tokens * 2 * group <= most_rows) tile_tokens *= 2;
    }

    [[nodiscard]] L3_INLINE Index tiles() const {
        return positions.count ? (positions.end() - 1) / tile_tokens - positions.first / tile_tokens + 1 : 0;
    }
    [[nodiscard]] L3_INLINE Index tile_rows() const { return tile_tokens * group; }
    /// Tile i of a key-value head. The first and the last may have fewer rows.
    [[nodiscard]] AttentionTile tile(Index i, int kv_head) const {
        const Index border = (positions.first / tile_tokens + i) * tile_tokens;
        const Index begin = std::max(border, positions.first), end = std::min(border + tile_tokens, positions.end());
        return {kv_head, begin - positions.first, begin, (end - begin) * group};
    }
    /// Where a row of a tile stands in q and out.
    [[nodiscard]] L3_INLINE Index row_at(const AttentionTile& tile, Index row) const {
        return ((tile.first_token + row / group) * heads + tile.kv_head * group + row % group) * kv.head_dim;
    }

    [[nodiscard]] L3_INLINE Index blocks() const { return ceil_div<Index>(positions.end(), block_positions); }
    /// f32 of a row's state: its sum over values, then the maximum of its scores and the sum of its probabilities.
    [[nodiscard]] L3_INLINE Index max_at() const { return align_up<Index>(kv.head_dim, 32); }
    [[nodiscard]] L3_INLINE Index sum_at() const { return max_at() + 1; }
    [[nodiscard]] L3_INLINE Index state_size() const { return max_at() + 16; }
    /// f32 of the memory that a thread works in: packed queries, scores, and two states of each row.
    [[nodiscard]] L3_INLINE Index workspace_size() const {
        return tile_rows() * (align_up<Index>(kv.head_dim, 16) + block_positions + 2 * state_size());
    }
};

namespace detail {

L3_INLINE constexpr Index least(Index a, Index b) { return a < b ? a : b; }

/// Packs the queries of a tile: for every row_tile rows [step][query][row].
template <class A, DType T>
L3_INLINE void pack_queries(const AttentionCall<T>& call, const AttentionTile& tile,
                            typename KeyStep<T, A>::Query* packed) {
    using Step = KeyStep<T, A>;
    const Index Dh = call.kv.head_dim, per_row = Dh / Step::dims * Step::queries;
    for (Index row = 0; row < tile.rows; row += row_tile, packed += row_tile * per_row) {
        const int R = int(least(tile.rows - row, row_tile));
        for (int r = 0; r < R; ++r) {
            const T* q = call.q + call.row_at(tile, row + r);
            for (Index s = 0; s * Step::dims < Dh; ++s)
                Step::pack(packed + s * Step::queries * R + r, R, q + s * Step::dims);
        }
    }
}

/// Makes the first n of a row of scores probabilities, and those up to the next multiple of 16 zeros.
template <class A>
L3_INLINE void softmax(f32* scores, Index n, f32& max, f32& sum) {
    const Index end = align_up<Index>(n, 16);
    for (Index i = n; i < end; ++i) scores[i] = -std::numeric_limits<f32>::infinity();
    simd::Lanes<A> highest = simd::load_lanes<A>(scores);
    const auto higher = [](simd::F<A> a, simd::F<A> b) { return xsimd::max(a, b); };
    for (Index i = 16; i < end; i += 16) highest = simd::map<A>(higher, highest, simd::load_lanes<A>(scores + i));
    alignas(64) f32 lanes[16];
    simd::store_lanes<A>(lanes, highest);
    f32 m = lanes[0];
    for (int i = 1; i < 16; ++i) m = lanes[i] > m ? lanes[i] : m;

    simd::Lanes<A> sums = simd::broadcast<A>(0.0f);
    for (Index i = 0; i < end; i += 16) {
        const simd::Lanes<A> p = simd::exp<A>(
            simd::map<A>([m](simd::F<A> score) { return score - simd::F<A>(m); }, simd::load_lanes<A>(scores + i)));
        simd::store_lanes<A>(scores + i, p);
        sums = simd::map<A>([](simd::F<A> a, simd::F<A> b) { return a + b; }, sums, p);
    }
    max = m;
    sum = simd::tree_sum<A>(sums);
}

/// The states of a tile's rows for one block of positions alone.
template <class A, DType T>
L3_INLINE void attend_block(const AttentionCall<T>& call, const AttentionTile& tile, Index block, bool last,
                            const typename KeyStep<T, A>::Query* q, f32* scores, f32* states) {
    using Step = KeyStep<T, A>;
    // Groups and positions that stay near while all rows pass over them.
    constexpr Index score_chunk = 8, value_chunk = 64;
    const Index Dh = call.kv.head_dim, stride = call.state_size(), q_row = Dh / Step::dims * Step::queries;
    const Index begin = block * block_positions;
    const T *k = call.kv.k_group(tile.kv_head, begin), *v = call.kv.v_row(tile.kv_head, begin);
    // Positions of the block that a row sees; never less than those of the rows before it.
    const auto visible = [&](Index row) {
        return least(tile.first_position + row / call.group + 1 - begin, block_positions);
    };
    const auto rows_from = [&](Index row) { return least(tile.rows - row, row_tile); };
    const Index most = visible(tile.rows - 1);
    const auto distance = [](const T* from, const T* to) {
        return reinterpret_cast<const char*>(to) - reinterpret_cast<const char*>(from);
    };

    for (Index g = 0; g < ceil_div<Index>(most, 16); g += score_chunk)
        for (Index row = 0; row < tile.rows; row += row_tile) {
            const Index R = rows_from(row), groups = ceil_div<Index>(visible(row + R - 1), 16) - g;
            score_rows<A, T>(R, q + row * q_row, k + g * 16 * Dh, Dh, least(groups, score_chunk), call.scale,
                             scores + row * block_positions + g * 16, row ? 0 : distance(k, v));
        }

    for (Index row = 0; row < tile.rows; ++row) {
        f32* state = states + row * stride;
        softmax<A>(scores + row * block_positions, visible(row), state[call.max_at()], state[call.sum_at()]);
        std::memset(state, 0, std::size_t(call.max_at()) * sizeof(f32));
    }

    const Index next_keys = last ? 0 : distance(v, k + block_positions * Dh);
    for (Index t = 0; t < most; t += value_chunk)
        for (Index row = 0; row < tile.rows; row += row_tile) {
            const Index R = rows_from(row), end = t + value_chunk;
            const auto until = [&](Index r) { return least(visible(r), end); };
            const auto add = [&](Index rows, Index from_row, Index from, Index to) {
                add_values<A, T>(rows, states + from_row * stride, stride, scores + from_row * block_positions + from,
                                 v + from * Dh, Dh, to - from, row ? 0 : next_keys);
            };
            // What all rows see together, then the rest of those that see more.
            const Index together = until(row);
            add(R, row, t, together);
            for (Index r = row + 1; r < row + R; ++r) add(1, r, (together > t ? together : t), until(r));
        }
}

/// Adds the state of the next block to that of all blocks before.
template <class A>
L3_INLINE void merge(f32* state, const f32* block, Index max_at) {
    using F = simd::F<A>;
    f32 &m = state[max_at], &l = state[max_at + 1];
    const f32 block_m = block[max_at], block_l = block[max_at + 1], highest = m < block_m ? block_m : m;
    const F a = simd::exp<A>(F(m) - F(highest)), b = simd::exp<A>(F(block_m) - F(highest));
    const auto both = [&](F x, F y) { return simd::fma<A>(x, a, simd::opaque(y * b)); };
    f32 sum[16];
    simd::store<A>(sum, both(F(l), F(block_l)));
    m = highest;
    l = sum[0];
    for (Index i = 0; i < max_at; i += simd::width<A>)
        simd::store<A>(state + i, both(simd::load<A>(state + i), simd::load<A>(block + i)));
}

/// out [Dh] = o / l of a row.
template <class A, DType T>
L3_INLINE void finish(T* out, const f32* state, Index Dh, Index sum_at) {
    using Load = ValueLoad<T, A>;
    const simd::F<A> sum(state[sum_at]);
    for (Index d = 0; d < Dh; d += Load::dims) {
        simd::F<A> o[Load::registers];
        L3_UNROLL
        for (int i = 0; i < Load::registers; ++i)
            o[i] = simd::divide<A>(simd::load<A>(state + d + i * simd::width<A>), sum);
        if (d + Load::dims <= Dh) {
            Load::store(out + d, o);
        } else {
            T rest[Load::dims];
            Load::store(rest, o);
            std::memcpy(out + d, rest, std::size_t(Dh - d) * sizeof(T));
        }
    }
}

}  // namespace detail

/// Attends a tile to blocks [begin, end) of positions. Without `partials` these are all blocks, and the outputs are
/// stored. Otherwise the states of each block are: partials[block - begin][row of a whole tile].
template <class A, DType T>
L3_NOINLINE void attend(const AttentionCall<T>& call, const AttentionTile& tile, Index begin, Index end, f32* workspace,
                        f32* partials) {
    using Query = typename KeyStep<T, A>::Query;
    const Index stride = call.state_size(), states_size = call.tile_rows() * stride;
    const Index last = (tile.first_position + tile.rows / call.group - 1) / block_positions;
    f32* scores = workspace + call.tile_rows() * align_up<Index>(call.kv.head_dim, 16);
    f32* states = scores + call.tile_rows() * block_positions;
    auto* q = reinterpret_cast<Query*>(workspace);
    detail::pack_queries<A, T>(call, tile, q);
    for (Index block = begin; block < end && block <= last; ++block) {
        f32* of_block = states + (block > 0 ? states_size : 0);
        if (partials) of_block = partials + (block - begin) * states_size;
        detail::attend_block<A, T>(call, tile, block, block == last, q, scores, of_block);
        if (!partials && block > 0)
            for (Index row = 0; row < tile.rows; ++row)
                detail::merge<A>(states + row * stride, of_block + row * stride, call.max_at());
    }
    if (partials) return;
    for (Index row = 0; row < tile.rows; ++row)
        detail::finish<A, T>(call.out + call.row_at(tile, row), states + row * stride, call.kv.head_dim, call.sum_at());
}

/// Merges the partials of all blocks of a row, and stores its output.
template <class A, DType T>
L3_NOINLINE void merge_partials(const AttentionCall<T>& call, const AttentionTile& tile, Index row, f32* partials) {
    const Index stride = call.state_size(), position = tile.first_position + row / call.group;
    f32* state = partials + row * stride;
    for (Index block = 1; block <= position / block_positions; ++block)
        detail::merge<A>(state, state + block * call.tile_rows() * stride, call.max_at());
    detail::finish<A, T>(call.out + call.row_at(tile, row), state, call.kv.head_dim, call.sum_at());
}

}  // namespace l3::inline v0::cpu
