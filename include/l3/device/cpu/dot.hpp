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
///     part         elements of K that one register takes: sixteen lanes are `parts` registers
///     Input        what inputs are packed as
///     pack         one part of an input, from T as it lies in memory
///     accumulate   acc[m][n] = one step of a part of input m (packed, adjacent) with the same part of row n
template <DType T, class A>
struct Dot;

}  // namespace l3::inline v0::simd
