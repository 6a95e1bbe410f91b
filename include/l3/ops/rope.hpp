#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"
#include "positions.hpp"
#include <span>

namespace l3::inline v0 {

/// The rotations of the M positions of a call: cosines and sines [M, Dh/2] of position * inv_freq.
template <Device D>
struct Rotary {
    TensorView<const f32, D> cos, sin;
};

/// The rooms of rope and rope_table for one device: ops/cpu/rope.hpp.
template <Device D>
struct RoPE {
    static_assert(sizeof(D) == 0, "no rope for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// Fills the tables of rotary positions: cos, sin of position * inv_freq[i], in double and rounded once to f32.
/// Shapes: cos, sin [M, Dh/2] f32; inv_freq [Dh/2], radians per position; M = positions.count.
/// The library's own cosine and sine: the same bits with every compiler and C library.
/// Throws ShapeError. About 50 ns per element on the CPU.
template <Device D>
void rope_table(Context<D>& ctx, TensorView<f32, D> cos, TensorView<f32, D> sin, std::span<const double> inv_freq,
                Positions positions) {
    require(cos.shape() == sin.shape(), "rope_table: cos ", cos, " and sin ", sin, " differ");
    require(cos.rows() == positions.count && cos.cols() == Index(inv_freq.size()), "rope_table: cos ", cos, " for ",
            positions.count, " positions and ", inv_freq.size(), " frequencies");
    require(positions.first >= 0, "rope_table: a first position of ", positions.first);
    RoPE<D>::table(ctx, cos, sin, inv_freq, positions);
}

/// Rotates the pairs (x0, x1) = (i, i + Dh/2) of every head, in place: r0 = x0 * c - x1 * s, r1 = x1 * c + x0 * s.
/// Shapes: x [M, heads*Dh] f32; rotary of M positions. The order of halves is that of Hugging Face checkpoints.
/// Bits: r0 = fma(x0, c, -(x1 * s)), r1 = fma(x1, c, x0 * s).
/// Throws ShapeError. Moves 8 bytes per element of x.
/// Source: Su et al. 2021.
template <Device D>
void rope(Context<D>& ctx, TensorView<f32, D> x, const Rotary<D>& rotary) {
    require(rotary.cos.shape() == rotary.sin.shape(), "rope: cos ", rotary.cos, " and sin ", rotary.sin, " differ");
    require(x.rows() == rotary.cos.rows() && rotary.cos.cols() > 0 && x.cols() % (2 * rotary.cos.cols()) == 0,
            "rope: x ", x, " does not fit tables of ", rotary.cos);
    RoPE<D>::rotate(ctx, x, rotary);
}

}  // namespace ops
}  // namespace l3::inline v0
