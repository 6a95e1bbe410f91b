#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"

namespace l3::inline v0 {

/// The room of argmax for one device: ops/cpu/argmax.hpp, ops/cuda/argmax.cuh.
template <Device D>
struct ArgMax {
    static_assert(sizeof(D) == 0, "no argmax for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// The index of the largest of these logits, the lowest one if several are equal.
/// Shapes: logits [V] f32. Throws ShapeError if there are none. NaN is never the largest; all NaN give 0.
template <Device D>
Token argmax(Context<D>& ctx, TensorView<const f32, D> logits) {
    require(logits.numel() > 0, "argmax of no logits");
    return ArgMax<D>::run(ctx, logits);
}

}  // namespace ops
}  // namespace l3::inline v0
