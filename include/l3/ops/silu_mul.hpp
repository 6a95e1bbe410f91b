#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"

namespace l3::inline v0 {

/// The room of silu_mul for one dtype and device: ops/cpu/silu_mul.hpp, ops/cuda/silu_mul.cuh.
template <DType T, Device D>
struct SiluMul {
    static_assert(sizeof(T) == 0, "no silu_mul for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// The gate of an MLP, rounded to T: h = silu(gate) * up, silu(g) = g / (1 + exp(-g)).
/// Shapes: h [M, F] T; gate, up [M, F] f32. Throws ShapeError. Moves M*F * (8 + sizeof(T)) bytes. Capture-safe on CUDA.
/// Source: Shazeer 2020 (SwiGLU); LlamaMLP in transformers, modeling_llama.py.
template <DType T, Device D>
void silu_mul(Context<D>& ctx, TensorView<T, D> h, TensorView<const f32, D> gate, TensorView<const f32, D> up) {
    require(h.shape() == gate.shape() && h.shape() == up.shape(), "silu_mul: h ", h, ", gate ", gate, ", up ", up, " differ");
    SiluMul<T, D>::run(ctx, h, gate, up);
}

}  // namespace ops
}  // namespace l3::inline v0
