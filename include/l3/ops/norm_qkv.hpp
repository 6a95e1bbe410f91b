#pragma once
#include "kv_view.hpp"
#include "positions.hpp"
#include "rms_norm.hpp"
#include "rope.hpp"

namespace l3::inline v0 {

/// The weights of an attention block, as in the checkpoint. Biases are f32 and may be absent.
template <DType T, Device D>
struct SelfAttention {
    TensorView<const T, D> q_proj;    // [Nq*Dh, H]
    TensorView<const T, D> k_proj;    // [Nkv*Dh, H]
    TensorView<const T, D> v_proj;    // [Nkv*Dh, H]
    TensorView<const T, D> o_proj;    // [H, Nq*Dh]
    TensorView<const f32, D> q_bias;  // [Nq*Dh]
    TensorView<const f32, D> k_bias;  // [Nkv*Dh]
    TensorView<const f32, D> v_bias;  // [Nkv*Dh]
    TensorView<const f32, D> o_bias;  // [H]
    int num_attention_heads = 0, num_key_value_heads = 0, head_dim = 0;
};

/// The room of norm_qkv for one dtype and device: ops/cpu/norm_qkv.hpp, ops/cuda/norm_qkv.cuh.
template <DType T, Device D>
struct NormQKV {
    static_assert(sizeof(T) == 0, "no norm_qkv for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// The way into an attention block: with n = rms_norm(x), q = rope(n * q_proj^T), and rope(n * k_proj^T) and
/// n * v_proj^T appended to the cache at these positions.
/// Shapes: q [M, Nq*Dh] T; x [M, H] f32; rotary.cos, rotary.sin [M, Dh/2] f32; positions M, all within the cache.
/// Products are canonical dots, biases added to the finished dots; q, k and v are rounded to T once, after RoPE.
/// Throws ShapeError. Reads (Nq + 2*Nkv)*Dh*H * sizeof(T) bytes, 2*M*(Nq + 2*Nkv)*Dh*H flops. Capture-safe on CUDA.
template <DType T, Device D>
void norm_qkv(Context<D>& ctx, TensorView<T, D> q, const KVView<T, D>& kv, TensorView<const f32, D> x, const Norm<D>& norm,
              const SelfAttention<T, D>& weights, const Rotary<D>& rotary, Positions positions) {
    const Index M = x.rows(), H = x.cols(), Nq = weights.num_attention_heads, Nkv = weights.num_key_value_heads;
    const Index Dh = weights.head_dim;
    const auto is = [H](const TensorView<const T, D>& W, Index rows) { return W.rows() == rows && W.cols() == H; };
    const auto fits = [](const TensorView<const f32, D>& bias, Index n) { return !bias || bias.numel() == n; };
    require(norm.weight.numel() == H, "norm_qkv: x ", x, " does not fit the norm ", norm.weight);
    require(is(weights.q_proj, Nq * Dh), "norm_qkv: q_proj ", weights.q_proj, " is not [", Nq * Dh, ", ", H, "]");
    require(is(weights.k_proj, Nkv * Dh), "norm_qkv: k_proj ", weights.k_proj, " is not [", Nkv * Dh, ", ", H, "]");
    require(is(weights.v_proj, Nkv * Dh), "norm_qkv: v_proj ", weights.v_proj, " is not [", Nkv * Dh, ", ", H, "]");
    require(fits(weights.q_bias, Nq * Dh) && fits(weights.k_bias, Nkv * Dh) && fits(weights.v_bias, Nkv * Dh),
            "norm_qkv: biases ", weights.q_bias, ", ", weights.k_bias, ", ", weights.v_bias, " do not fit");
    require(q.rows() == M && q.cols() == Nq * Dh, "norm_qkv: q ", q, " is not [", M, ", ", Nq * Dh, "]");
    require(rotary.cos.rows() == M && rotary.cos.cols() == Dh / 2 && rotary.sin.shape() == rotary.cos.shape(),
            "norm_qkv: cos, sin ", rotary.cos, ", ", rotary.sin, " are not [", M, ", ", Dh / 2, "]");
    require(kv.num_key_value_heads == Nkv && kv.head_dim == Dh, "norm_qkv: the cache has ", kv.num_key_value_heads,
            " heads of ", kv.head_dim, ", expected ", Nkv, " of ", Dh);
    require(positions.count == M && positions.first >= 0 && positions.first + M <= kv.capacity, "norm_qkv: positions ",
            positions.first, " and ", positions.count, " more for ", M, " rows in a cache of ", kv.capacity);
    NormQKV<T, D>::run(ctx, q, kv, x, norm, weights, rotary, positions);
}

}  // namespace ops
}  // namespace l3::inline v0
