#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"

namespace l3::inline v0 {

/// The weights of a normalisation, as in the checkpoint; f32 whatever T is.
template <Device D>
struct Norm {
    TensorView<const f32, D> weight;  // [H]
    f32 eps = 1e-5f;                  // rms_norm_eps
};

/// The room of rms_norm for one dtype and device: ops/cpu/rms_norm.hpp, ops/cuda/rms_norm.cuh.
template <DType T, Device D>
struct RMSNorm {
    static_assert(sizeof(T) == 0, "no rms_norm for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// RMS normalisation of each row, rounded to T: y = x / sqrt(mean(x^2) + eps) * weight.
/// Shapes: y [M, H] T; x [M, H] f32; weight [H] f32. The sum of squares is the canonical dot of f32, the reciprocal an
/// IEEE square root and division. Throws ShapeError. Moves M*H * (4 + sizeof(T)) bytes. Capture-safe on CUDA.
/// Source: Zhang & Sennrich 2019; LlamaRMSNorm in transformers, modeling_llama.py.
template <DType T, Device D>
void rms_norm(Context<D>& ctx, TensorView<T, D> y, TensorView<const f32, D> x, const Norm<D>& norm) {
    require(y.shape() == x.shape(), "rms_norm: y ", y, " and x ", x, " differ");
    require(x.cols() == norm.weight.numel(), "rms_norm: x ", x, " does not fit the weight ", norm.weight);
    RMSNorm<T, D>::run(ctx, y, x, norm);
}

}  // namespace ops
}  // namespace l3::inline v0
