#pragma once
#include "rms_norm.hpp"
#include <span>

namespace l3::inline v0 {

/// The room of norm_logits for one dtype and device: ops/cpu/norm_logits.hpp, ops/cuda/norm_logits.cuh.
template <DType T, Device D>
struct NormLogits {
    static_assert(sizeof(T) == 0, "no norm_logits for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// The logits of chosen tokens: logits[r] = rms_norm(x[rows[r]]) * lm_head^T.
/// Shapes: logits [R, V] f32; x [M, H] f32; rows [R], each in [0, M); lm_head [V, H] T.
/// Throws ShapeError, ArgumentError. Reads V*H * sizeof(T) bytes, 2*R*V*H flops.
template <DType T, Device D>
void norm_logits(Context<D>& ctx, TensorView<f32, D> logits, TensorView<const f32, D> x, std::span<const int> rows,
                 const Norm<D>& norm, TensorView<const T, D> lm_head) {
    require(logits.rows() == Index(rows.size()), "norm_logits: logits ", logits, " for ", rows.size(), " rows");
    require(logits.cols() == lm_head.rows(), "norm_logits: logits ", logits, " do not fit lm_head ", lm_head);
    require(x.cols() == norm.weight.numel() && x.cols() == lm_head.cols(), "norm_logits: x ", x, " does not fit the norm ",
            norm.weight, " and lm_head ", lm_head);
    for (int row : rows) require<ArgumentError>(0 <= row && row < x.rows(), "norm_logits: row ", row, " of x ", x);
    if (!rows.empty()) NormLogits<T, D>::run(ctx, logits, x, rows, norm, lm_head);
}

}  // namespace ops
}  // namespace l3::inline v0
