#pragma once
#include "../../device/cpu/context.hpp"
#include "../rms_norm.hpp"
#include "pack.hpp"
#include <cmath>

namespace l3::inline v0 {

namespace cpu {

/// One row: y = round_T((x * inv) * weight), inv = 1 / sqrt(x . x / H + eps).
template <class A, DType T>
L3_NOINLINE void rms_norm_row(T* y, const f32* x, const f32* weight, Index H, f32 eps) {
    const f32 inv = 1.0f / std::sqrt(simd::dot<A>(x, x, H) / f32(H) + eps);
    constexpr Index width = simd::width<A>;
    Index i = 0;
    for (; i + width <= H; i += width)
        simd::store<A>(y + i, (simd::load<A>(x + i) * simd::F<A>(inv)) * simd::load<A>(weight + i));
    for (; i < H; ++i) y[i] = T((x[i] * inv) * weight[i]);
}

/// The normalised rows of x as inputs of a matrix product; for one token on this thread, for many on all.
template <DType T>
PackedInput<T> norm_and_pack(Context<CPU>& ctx, TensorView<const f32, CPU> x, const Norm<CPU>& norm) {
    const Index M = x.rows(), H = x.cols(), stride = align_up<Index>(H, 64);
    const PackedInput<T> packed(ctx, M, H);
    T* rows = ctx.scratch<T>(Scratch::rows, ctx.threads() * stride);
    const auto work = [&](Index begin, Index end, int slot) {
        T* y = rows + slot * stride;
        for (Index m = begin; m < end; ++m) {
            if (m < M) rms_norm_row<arch::native>(y, x.row(m), norm.weight.data(), H, norm.eps);
            packed.pack(m, m < M ? y : nullptr);
        }
    };
    if (M == 1) ctx.serial([&] { work(0, 1, 0); });
    else ctx.parallel(packed.blocks() * packed.block_tokens(), rows_per_thread(H), work);
    return packed;
}

}  // namespace cpu

template <DType T>
struct RMSNorm<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<T, CPU> y, TensorView<const f32, CPU> x, const Norm<CPU>& norm) {
        const Index H = x.cols();
        ctx.parallel(x.rows(), rows_per_thread(H), [&](Index begin, Index end, int) {
            for (Index m = begin; m < end; ++m)
                cpu::rms_norm_row<arch::native>(y.row(m), x.row(m), norm.weight.data(), H, norm.eps);
        });
    }
};

}  // namespace l3::inline v0
