#pragma once
#include "../linear.hpp"
#include "gemm.hpp"

namespace l3::inline v0 {

template <DType T>
struct Linear<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<f32, CPU> y, TensorView<const T, CPU> a, TensorView<const T, CPU> W,
                    TensorView<const f32, CPU> bias) {
        cpu::gemm<T>(ctx, cpu::pack<T>(ctx, a), W, [=](Index token, Index first, Index rows, const f32* dots) {
            f32* out = y.row(token) + first;
            for (Index r = 0; r < rows; ++r) out[r] = bias ? dots[r] + bias.data()[first + r] : dots[r];
        });
    }
};

}  // namespace l3::inline v0
