#pragma once
#include "../norm_qkv.hpp"
#include "gemm.hpp"
#include "rms_norm.hpp"
#include "rope.hpp"

namespace l3::inline v0 {

template <DType T>
struct NormQKV<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<T, CPU> q, const KVView<T, CPU>& kv, TensorView<const f32, CPU> x,
                    const Norm<CPU>& norm, const SelfAttention<T, CPU>& weights, const Rotary<CPU>& rotary,
                    Positions positions) {
        const Index Nq = weights.num_attention_heads, Nkv = weights.num_key_value_heads, Dh = weights.head_dim;
        // The rows of q, k and v are one stack; an item is a head, so that its epilogue has both halves of each pair.
        struct Head { const TensorView<const T, CPU>& proj; const TensorView<const f32, CPU>& bias; Index index; };
        const auto head_of = [&weights, Nq, Nkv](Index item) -> Head {
            if (item < Nq) return {weights.q_proj, weights.q_bias, item};
            if (item < Nq + Nkv) return {weights.k_proj, weights.k_bias, item - Nq};
            return {weights.v_proj, weights.v_bias, item - Nq - Nkv};
        };
        cpu::gemm<T>(
            ctx, cpu::norm_and_pack<T>(ctx, x, norm), Nq + 2 * Nkv, Dh,
            [&](Index item, const T** rows) {
                const Head head = head_of(item);
                for (Index r = 0; r < Dh; ++r) rows[r] = head.proj.row(head.index * Dh + r);
                return int(Dh);
            },
            [&](Index item, Index token, Index tokens, f32* dots, Index ld) {
                const Head head = head_of(item);
                for (Index m = token; m < token + tokens; ++m, dots += ld) {
                    if (head.bias)
                        for (Index i = 0; i < Dh; ++i) dots[i] += head.bias.data()[head.index * Dh + i];
                    if (item >= Nq + Nkv) {
                        kv.store_v(int(head.index), positions.first + m, dots);
                        continue;
                    }
                    cpu::rotate_head(dots, rotary.cos.row(m), rotary.sin.row(m), Dh / 2);
                    if (item >= Nq) kv.store_k(int(head.index), positions.first + m, dots);
                    else for (Index i = 0; i < Dh; ++i) q.row(m)[item * Dh + i] = T(dots[i]);
                }
            });
    }
};

}  // namespace l3::inline v0
