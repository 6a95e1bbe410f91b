#pragma once
#include "../../core/elementary.hpp"
#include "../../device/cpu/context.hpp"
#include "../../device/cpu/simd.hpp"
#include "../rope.hpp"

namespace l3::inline v0 {

namespace cpu {

/// Rotates the pairs (i, i + half) of one head [2 * half] by the angles of one position.
template <class A = arch::native>
L3_NOINLINE void rotate_head(f32* head, const f32* cos, const f32* sin, Index half) {
    constexpr int width = simd::width<A>;
    const auto rotate = [](f32* first, f32* second, const f32* c, const f32* s) {
        using simd::load;
        const simd::F<A> x0 = load<A>(first), x1 = load<A>(second), cosine = load<A>(c), sine = load<A>(s);
        simd::store<A>(first, simd::fma<A>(x0, cosine, -(x1 * sine)));
        simd::store<A>(second, simd::fma<A>(x1, cosine, x0 * sine));
    };
    Index i = 0;
    for (; i + width <= half; i += width) rotate(head + i, head + half + i, cos + i, sin + i);
    if (i == half) return;
    f32 rest[4][16] = {};
    const auto bytes = std::size_t(half - i) * sizeof(f32);
    std::memcpy(rest[0], head + i, bytes);
    std::memcpy(rest[1], head + half + i, bytes);
    std::memcpy(rest[2], cos + i, bytes);
    std::memcpy(rest[3], sin + i, bytes);
    rotate(rest[0], rest[1], rest[2], rest[3]);
    std::memcpy(head + i, rest[0], bytes);
    std::memcpy(head + half + i, rest[1], bytes);
}

}  // namespace cpu

template <>
struct RoPE<CPU> {
    static void table(Context<CPU>& ctx, TensorView<f32, CPU> cos, TensorView<f32, CPU> sin,
                      std::span<const double> inv_freq, Positions positions) {
        constexpr Index elements_per_thread = 256;
        ctx.parallel(positions.count, ceil_div(elements_per_thread, cos.cols() + 1), [&](Index begin, Index end, int) {
            for (Index m = begin; m < end; ++m)
                for (std::size_t i = 0; i < inv_freq.size(); ++i) {
                    const auto angle = elementary::sincos(double(positions.first + m) * inv_freq[i]);
                    cos.row(m)[i] = f32(angle.cos);
                    sin.row(m)[i] = f32(angle.sin);
                }
        });
    }

    static void rotate(Context<CPU>& ctx, TensorView<f32, CPU> x, const Rotary<CPU>& rotary) {
        const Index half = rotary.cos.cols();
        ctx.parallel(x.rows(), rows_per_thread(x.cols()), [&](Index begin, Index end, int) {
            for (Index m = begin; m < end; ++m)
                for (Index head = 0; head < x.cols(); head += 2 * half)
                    cpu::rotate_head(x.row(m) + head, rotary.cos.row(m), rotary.sin.row(m), half);
        });
    }
};

}  // namespace l3::inline v0
