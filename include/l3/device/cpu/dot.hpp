#pragma once
#include "../../core/math.hpp"
#include "../../dtype/dtype.hpp"
#include "simd.hpp"

namespace l3::inline v0::simd {

/// Elements of K after which the lanes of the canonical dot are summed and start anew.
inline constexpr Index dot_chunk = 1024;

/// One step of the canonical dot (docs/numerics.md) for one dtype: simd_bf16.hpp, simd_f32.hpp.
///
///     step         elements of K that the sixteen lanes take at once
///     part         elements of K that one register of sums takes: sixteen lanes are `parts` registers
///     Input        what inputs and rows of W are packed as: T, or f32 where T has to be widened
///     registers    registers of Input that a part takes, one multiplied after the other; packed: elements of each
///     pack         one part, from T as it lies in memory, to registers that are `stride` elements apart
///     accumulate   acc[m][n] = one step of a part of input m (packed: [register][m]) with the same part of row n
template <DType T, class A>
struct Dot;

}  // namespace l3::inline v0::simd
