#pragma once
#include "../attention.hpp"
#include "attention/tile.hpp"

namespace l3::inline v0 {

namespace cpu {

/// Which thread does what. The bits do not depend on it: blocks of a row are merged in ascending order.
template <class A, DType T>
void attention(Context<CPU>& ctx, const AttentionCall<T>& call) {
    const Index Nkv = call.kv.num_key_value_heads, tiles = call.tiles(), units = tiles * Nkv, blocks = call.blocks();
    // Tiles with most to do come first.
    const auto tile_of = [&](Index unit) { return call.tile(tiles - 1 - unit / Nkv, int(unit % Nkv)); };

    // A long context for few tokens: blocks are done apart, by whoever is free, and merged afterwards.
    constexpr Index most_partials = Index{1} << 22;
    const Index unit_partials = blocks * call.tile_rows() * call.state_size();
    const bool split = blocks > 1 && ctx.threads() > 1 && units < 4 * ctx.threads() &&
                       units * unit_partials <= most_partials;

    const Index workspaces = ctx.threads() * call.workspace_size();
    f32* scratch = ctx.scratch<f32>(Scratch::attention, workspaces + (split ? units * unit_partials : 0));
    const auto workspace = [&](int slot) { return scratch + slot * call.workspace_size(); };
    const Index block_work = call.tile_rows() * block_positions * call.kv.head_dim;

    if (!split) {
        ctx.parallel(units, ceil_div(work_per_thread, block_work * blocks), [&](Index begin, Index end, int slot) {
            for (Index unit = begin; unit < end; ++unit)
                attend<A, T>(call, tile_of(unit), 0, blocks, workspace(slot), nullptr);
        });
        return;
    }
    f32* partials = scratch + workspaces;
    ctx.parallel(units * blocks, ceil_div(work_per_thread, block_work), [&](Index begin, Index end, int slot) {
        while (begin < end) {
            const Index unit = begin / blocks, block = begin % blocks;
            const Index n = std::min(end - begin, blocks - block);
            attend<A, T>(call, tile_of(unit), block, block + n, workspace(slot),
                         partials + unit * unit_partials + block * call.tile_rows() * call.state_size());
            begin += n;
        }
    });
    const Index merge_work = blocks * call.state_size() * Index{sizeof(f32)};
    ctx.parallel(units * call.tile_rows(), ceil_div(work_per_thread, merge_work), [&](Index begin, Index end, int) {
        for (Index i = begin; i < end; ++i) {
            const Index unit = i / call.tile_rows(), row = i % call.tile_rows();
            const AttentionTile tile = tile_of(unit);
            if (row < tile.rows) merge_partials<A, T>(call, tile, row, partials + unit * unit_partials);
        }
    });
}

}  // namespace cpu

template <DType T>
struct Attention<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<T, CPU> out, TensorView<const T, CPU> q, const KVView<T, CPU>& kv,
                    Positions positions) {
        cpu::attention<arch::native>(ctx, cpu::AttentionCall<T>(out, q, kv, positions));
    }
};

}  // namespace l3::inline v0
