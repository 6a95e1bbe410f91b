#pragma once
#include "../../device/cpu/context.hpp"
#include "../../device/cpu/simd_bf16.hpp"
#include "../../device/cpu/simd_math.hpp"
#include "../silu_mul.hpp"

namespace l3::inline v0 {

namespace cpu {

/// h[i] = round_T(silu(gate[i] + gate_bias[i]) * (up[i] + up_bias[i])) for count elements; biases may be null.
template <class A, DType T>
L3_NOINLINE void silu_mul_row(T* h, const f32* gate, const f32* up, const f32* gate_bias, const f32* up_bias, Index count) {
    constexpr int width = simd::width<A>;
    const auto step = [](T* out, const f32* g, const f32* u, const f32* gb, const f32* ub) {
        simd::F<A> a = simd::load<A>(g), b = simd::load<A>(u);
        if (gb) a = a + simd::load<A>(gb);
        if (ub) b = b + simd::load<A>(ub);
        simd::store<A>(out, simd::silu<A>(a) * b);
    };
    Index i = 0;
    for (; i + width <= count; i += width)
        step(h + i, gate + i, up + i, gate_bias ? gate_bias + i : nullptr, up_bias ? up_bias + i : nullptr);
    if (i == count) return;
    simd::Grid<f32, 4, width> rest = {};
    simd::Row<T, width> out;
    const auto bytes = std::size_t(count - i) * sizeof(f32);
    std::memcpy(rest[0], gate + i, bytes);
    std::memcpy(rest[1], up + i, bytes);
    if (gate_bias) std::memcpy(rest[2], gate_bias + i, bytes);
    if (up_bias) std::memcpy(rest[3], up_bias + i, bytes);
    step(out, rest[0], rest[1], gate_bias ? rest[2] : nullptr, up_bias ? rest[3] : nullptr);
    std::memcpy(h + i, out, std::size_t(count - i) * sizeof(T));
}

}  // namespace cpu

template <DType T>
struct SiluMul<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<T, CPU> h, TensorView<const f32, CPU> gate, TensorView<const f32, CPU> up) {
        ctx.parallel(h.rows(), rows_per_thread(h.cols()), [&](Index begin, Index end, int) {
            for (Index m = begin; m < end; ++m)
                cpu::silu_mul_row<arch::native>(h.row(m), gate.row(m), up.row(m), nullptr, nullptr, h.cols());
        });
    }
};

}  // namespace l3::inline v0
