#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"

namespace l3::inline v0 {

/// The room of linear for one dtype and device: ops/cpu/linear.hpp, ops/cuda/linear.cuh.
template <DType T, Device D>
struct Linear {
    static_assert(sizeof(T) == 0, "no linear for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// A matrix product: y = a * W^T + bias.
/// Shapes: y [M, N] f32; a [M, K] T; W [N, K] T, row-major as in the checkpoint; bias [N] f32 or absent.
/// Order of summation: the canonical dot (docs/numerics.md), so row i has the same bits for any M.
/// Throws ShapeError. Reads (N*K + M*K) * sizeof(T) bytes, 2*M*N*K flops. Capture-safe on CUDA.
template <DType T, Device D>
void linear(Context<D>& ctx, TensorView<f32, D> y, TensorView<const T, D> a, TensorView<const T, D> W,
            TensorView<const f32, D> bias = {}) {
    require(y.rows() == a.rows(), "linear: y has ", y.rows(), " rows, a has ", a.rows());
    require(y.cols() == W.rows() && a.cols() == W.cols(), "linear: y, a ", y, ", ", a, " do not fit W ", W);
    require(!bias || bias.numel() == W.rows(), "linear: bias ", bias, " does not fit W ", W);
    Linear<T, D>::run(ctx, y, a, W, bias);
}

}  // namespace ops
}  // namespace l3::inline v0
