#pragma once
#include "../norm_gate_up.hpp"
#include "gemm.hpp"
#include "rms_norm.hpp"
#include "silu_mul.hpp"

namespace l3::inline v0 {

template <DType T>
struct NormGateUp<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<T, CPU> h, TensorView<const f32, CPU> x, const Norm<CPU>& norm,
                    const MLP<T, CPU>& weights) {
        // An item is the same rows of both matrices: gate and up of an element are finished together.
        const Index item_rows = x.rows() == 1 ? 96 : 24;  // one token: long streams of memory; many: what the cache holds
        const Index F = h.cols();
        const f32 *gate_bias = weights.gate_bias.data(), *up_bias = weights.up_bias.data();
        const auto rows_in = [F, item_rows](Index item) { return std::min(item_rows, F - item * item_rows); };
        cpu::gemm<T>(
            ctx, cpu::norm_and_pack<T>(ctx, x, norm), ceil_div(F, item_rows), 2 * item_rows,
            [&](Index item, const T** rows) {
                const Index first = item * item_rows, n = rows_in(item);
                for (Index r = 0; r < n; ++r) {
                    rows[r] = weights.gate_proj.row(first + r);
                    rows[n + r] = weights.up_proj.row(first + r);
                }
                return int(2 * n);
            },
            [&](Index item, Index token, Index tokens, const f32* dots, Index ld) {
                const Index first = item * item_rows, n = rows_in(item);
                for (Index m = 0; m < tokens; ++m, dots += ld)
                    cpu::silu_mul_row<arch::native>(h.row(token + m) + first, dots, dots + n,
                                                    gate_bias ? gate_bias + first : nullptr,
                                                    up_bias ? up_bias + first : nullptr, n);
            });
    }
};

}  // namespace l3::inline v0
