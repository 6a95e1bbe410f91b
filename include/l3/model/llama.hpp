#pragma once
#include "../ops/ops.hpp"
#include "activations.hpp"
#include "kv_cache.hpp"
#include "llama_weights.hpp"

namespace l3::inline v0 {

/// The decoder of the Llama family, for every dtype and device. This page is the model.
/// Evaluates M tokens that follow what the cache holds, for one token (decode) or a chunk of a prompt (prefill) alike,
/// and leaves the logits of the rows asked for in a.logits.
/// Throws ContextFullError, changing nothing; after what an operation throws, the cache holds positions without meaning,
/// which the caller truncates.
/// Source: Touvron et al. 2023; LlamaForCausalLM in transformers, modeling_llama.py. Each step is a page in ops/.
template <DType T, Device D>
void forward(Context<D>& ctx, const LlamaConfig& config, const LlamaWeights<T, D>& weights, KVCache<T, D>& cache,
             Activations<T, D>& a, std::span<const Token> tokens, std::span<const int> rows_with_logits) {
    const Positions positions = cache.append(Index(tokens.size()));  // [first, first + M)
    a.prepare(config, Index(tokens.size()), Index(rows_with_logits.size()));

    ops::embed<T, D>(ctx, a.x, tokens, weights.embed_tokens);                   // x [M, H], f32: the residual stream
    ops::rope_table<D>(ctx, a.cos, a.sin, weights.inv_freq, positions);         // cos, sin [M, Dh/2]
    const Rotary<D> rotary{a.cos, a.sin};

    for (int i = 0; i < config.num_hidden_layers; ++i) {
        const LlamaLayer<T, D>& layer = weights.layers[std::size_t(i)];
        const SelfAttention<T, D>& self_attn = layer.self_attn;
        const MLP<T, D>& mlp = layer.mlp;
        const KVView<T, D> kv = cache.layer(i);                                 // k, v of S positions

        ops::norm_qkv<T, D>(ctx, a.q, kv, a.x, layer.input_layernorm, self_attn, rotary, positions);
                                                                                // q [M, Nq*Dh]; k, v into the cache
        ops::attention<T, D>(ctx, a.attn, a.q, kv, positions);                  // attn [M, Nq*Dh]
        ops::linear_add<T, D>(ctx, a.x, a.attn, self_attn.o_proj, self_attn.o_bias);   // x += attn * o_proj^T
        ops::norm_gate_up<T, D>(ctx, a.h, a.x, layer.post_attention_layernorm, mlp);   // h [M, F] = silu(gate) * up
        ops::linear_add<T, D>(ctx, a.x, a.h, mlp.down_proj, mlp.down_bias);            // x += h * down_proj^T
    }

    ops::norm_logits<T, D>(ctx, a.logits, a.x, rows_with_logits, weights.norm, weights.lm_head);  // [R, V], f32
}

}  // namespace l3::inline v0
