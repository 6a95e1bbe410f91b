#pragma once
#include "../norm_logits.hpp"
#include "gemm.hpp"
#include "rms_norm.hpp"

namespace l3::inline v0 {

template <DType T>
struct NormLogits<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<f32, CPU> logits, TensorView<const f32, CPU> x, std::span<const int> rows,
                    const Norm<CPU>& norm, TensorView<const T, CPU> lm_head) {
        // The rows asked for are few: gathered, then treated as any others.
        const Index H = x.cols();
        f32* chosen = ctx.scratch<f32>(Scratch::gathered_rows, Index(rows.size()) * H);
        for (std::size_t r = 0; r < rows.size(); ++r)
            std::memcpy(chosen + Index(r) * H, x.row(rows[r]), std::size_t(H) * sizeof(f32));
        const TensorView<const f32, CPU> gathered(chosen, {Index(rows.size()), H});
        cpu::gemm<T>(ctx, cpu::norm_and_pack<T>(ctx, gathered, norm), lm_head,
                     [=](Index token, Index first, Index count, const f32* dots) {
                         std::memcpy(logits.row(token) + first, dots, std::size_t(count) * sizeof(f32));
                     });
    }
};

}  // namespace l3::inline v0
