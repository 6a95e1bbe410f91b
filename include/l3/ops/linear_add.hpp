#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"

namespace l3::inline v0 {

/// The room of linear_add for one dtype and device: ops/cpu/linear_add.hpp, ops/cuda/linear_add.cuh.
template <DType T, Device D>
struct LinearAdd {
    static_assert(sizeof(T) == 0, "no linear_add for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// Adds a product to the residual stream: x += a * W^T + bias.
/// Shapes: x [M, H] f32; a [M, K] T; W [H, K] T, row-major as in the checkpoint; bias [H] f32 or absent. Each row of x
/// is one token. Order of summation: the canonical dot (docs/numerics.md), so row i has the same bits for any M.
/// Throws ShapeError. Reads (H*K + M*K) * sizeof(T) + 4*M*H bytes, 2*M*H*K flops. Capture-safe on CUDA.
template <DType T, Device D>
void linear_add(Context<D>& ctx, TensorView<f32, D> x, TensorView<const T, D> a, TensorView<const T, D> W,
                TensorView<const f32, D> bias = {}) {
    require(x.rows() == a.rows(), "linear_add: x has ", x.rows(), " rows, a has ", a.rows());
    require(x.cols() == W.rows() && a.cols() == W.cols(), "linear_add: x, a ", x, ", ", a, " do not fit W ", W);
    require(!bias || bias.numel() == W.rows(), "linear_add: bias ", bias, " does not fit W ", W);
    LinearAdd<T, D>::run(ctx, x, a, W, bias);
}

}  // namespace ops
}  // namespace l3::inline v0
