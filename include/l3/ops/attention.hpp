#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"
#include "kv_view.hpp"
#include "positions.hpp"

namespace l3::inline v0 {

/// The room of attention for one dtype and device: ops/cpu/attention.hpp.
template <DType T, Device D>
struct Attention {
    static_assert(sizeof(T) == 0, "no attention for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// Causal attention with grouped heads over the cache: out = softmax(q k^T / sqrt(Dh)) v.
/// The query at position p sees the keys at positions 0 to p, which are in the cache already, its own included. Query
/// head h reads key-value head h / (Nq / Nkv).
/// Shapes: out, q [M, Nq*Dh] T; kv of Nkv heads; M = positions.count. f32 inside, `out` rounded once.
/// Order of summation: blocks of 256 positions (docs/numerics.md), so a row has the same bits for any M.
/// Throws ShapeError. Reads S*Nkv*Dh*2 * sizeof(T) bytes for one token, 4*Nq*Dh flops per query and position.
/// Source: Vaswani et al. 2017; Ainslie et al. 2023 (grouped heads); Milakov & Gimelshein 2018 (merged blocks).
template <DType T, Device D>
void attention(Context<D>& ctx, TensorView<T, D> out, TensorView<const T, D> q, const KVView<T, D>& kv,
               Positions positions) {
    const Index kv_cols = Index{kv.num_key_value_heads} * kv.head_dim;
    require(kv.num_key_value_heads > 0 && kv.head_dim > 0 && kv.head_dim % 2 == 0 && kv.capacity % kv.group == 0,
            "attention: a cache of ", kv.num_key_value_heads, " heads of ", kv.head_dim, " (expected even) and ",
            kv.capacity, " positions (expected a multiple of ", int{kv.group}, ")");
    require(q.cols() > 0 && q.cols() % kv_cols == 0, "attention: q ", q, " is no multiple of the cache's ",
            kv.num_key_value_heads, " heads of ", kv.head_dim);
    require(out.shape() == q.shape(), "attention: out ", out, " is not of the shape of q ", q);
    require(q.rows() == positions.count, "attention: q ", q, " for ", positions.count, " positions");
    require(0 <= positions.first && positions.end() <= kv.capacity, "attention: positions ", positions.first, " to ",
            positions.end(), " in a cache of ", kv.capacity);
    Attention<T, D>::run(ctx, out, q, kv, positions);
}

}  // namespace ops
}  // namespace l3::inline v0
