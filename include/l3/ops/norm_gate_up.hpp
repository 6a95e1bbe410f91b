#pragma once
#include "rms_norm.hpp"

namespace l3::inline v0 {

/// The weights of an MLP, as in the checkpoint. Biases are f32 and may be absent.
template <DType T, Device D>
struct MLP {
    TensorView<const T, D> gate_proj;    // [F, H]
    TensorView<const T, D> up_proj;      // [F, H]
    TensorView<const T, D> down_proj;    // [H, F]
    TensorView<const f32, D> gate_bias;  // [F]
    TensorView<const f32, D> up_bias;    // [F]
    TensorView<const f32, D> down_bias;  // [H]
};

/// The room of norm_gate_up for one dtype and device: ops/cpu/norm_gate_up.hpp, ops/cuda/norm_gate_up.cuh.
template <DType T, Device D>
struct NormGateUp {
    static_assert(sizeof(T) == 0, "no norm_gate_up for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// The way into an MLP: with n = rms_norm(x), h = silu(n * gate_proj^T) * (n * up_proj^T), rounded to T once.
/// Shapes: h [M, F] T; x [M, H] f32; gate_proj, up_proj [F, H] T. Products are canonical dots.
/// Throws ShapeError. Reads 2*F*H * sizeof(T) bytes, 4*M*F*H flops. Capture-safe on CUDA.
template <DType T, Device D>
void norm_gate_up(Context<D>& ctx, TensorView<T, D> h, TensorView<const f32, D> x, const Norm<D>& norm,
                  const MLP<T, D>& weights) {
    const Index H = x.cols(), F = weights.gate_proj.rows();
    require(norm.weight.numel() == H, "norm_gate_up: x ", x, " does not fit the norm ", norm.weight);
    require(weights.gate_proj.cols() == H, "norm_gate_up: gate_proj ", weights.gate_proj, " does not fit x ", x);
    require(weights.up_proj.shape() == weights.gate_proj.shape(), "norm_gate_up: up_proj ", weights.up_proj,
            " is not gate_proj's ", weights.gate_proj);
    require(h.rows() == x.rows() && h.cols() == F, "norm_gate_up: h ", h, " is not [", x.rows(), ", ", F, "]");
    require((!weights.gate_bias || weights.gate_bias.numel() == F) && (!weights.up_bias || weights.up_bias.numel() == F),
            "norm_gate_up: biases ", weights.gate_bias, ", ", weights.up_bias, " do not fit");
    NormGateUp<T, D>::run(ctx, h, x, norm, weights);
}

}  // namespace ops
}  // namespace l3::inline v0
