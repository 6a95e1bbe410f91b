#pragma once
#include "../device/cpu/context.hpp"
#include "llama_load/expected.hpp"
#include "llama_load/fill.hpp"
#include "llama_weights.hpp"
#include "rope_inv_freq.hpp"

namespace l3::inline v0 {

namespace loading {

/// Finds and checks every tensor of the model, and gives it its place in the weights: either the file, or memory that
/// Fill will allocate and fill.
template <DType T>
void plan(const Checkpoint& checkpoint, LlamaWeights<T, CPU>& w, ExpectedTensors& expected, Fill<T>& fill) {
    const LlamaConfig& c = checkpoint.config;
    const Index H = c.hidden_size, F = c.intermediate_size, V = c.vocab_size, Dh = c.head_dim;
    const Index Nq = c.num_attention_heads, Nkv = c.num_key_value_heads;
    const Index rotary = checkpoint.interleaved_rotary() ? Dh : 0;  // rows of so many are to be put in order
    const bool gguf = checkpoint.format == CheckpointFormat::gguf;  // biases: what is there, as no key tells

    const auto matrix = [&](TensorView<const T, CPU>& to, const std::string& name, Index rows, Index cols,
                            std::string_view in_words, Index head_rows = 0) {
        fill.matrix(to, expected.take(name + ".weight", {rows, cols}, in_words), head_rows);
    };
    const auto norm = [&](Norm<CPU>& to, const std::string& name) {
        fill.vector(to.weight, expected.take(name + ".weight", {H}, "[hidden_size]"), 0);
        to.eps = f32(c.rms_norm_eps);
    };
    const auto bias = [&](bool has, TensorView<const f32, CPU>& to, const std::string& name, Index n,
                          std::string_view in_words, Index head_rows = 0) {
        if (gguf ? expected.contains(name + ".bias") : has)
            fill.vector(to, expected.take(name + ".bias", {n}, in_words), head_rows);
    };

    matrix(w.embed_tokens, "model.embed_tokens", V, H, "[vocab_size, hidden_size]");
    // Looked for before a claim of a billion layers makes memory for them.
    (void)expected.take(message("model.layers.", c.num_hidden_layers - 1, ".input_layernorm.weight"), {H},
                        "[hidden_size]");
    constexpr std::size_t layer_tensors = 9;
    const auto layers = std::size_t(c.num_hidden_layers), most = checkpoint.tensors.size() / layer_tensors;
    require<FormatError>(layers <= most, checkpoint.path.string(), " has ", checkpoint.tensors.size(),
                         " tensors, of which a layer needs ", layer_tensors, ": expected at most ", most,
                         " layers, its config says ", layers);
    w.layers.resize(std::size_t(c.num_hidden_layers));
    for (int i = 0; i < c.num_hidden_layers; ++i) {
        LlamaLayer<T, CPU>& layer = w.layers[std::size_t(i)];
        const std::string at = message("model.layers.", i, ".");
        norm(layer.input_layernorm, at + "input_layernorm");

        SelfAttention<T, CPU>& a = layer.self_attn;
        a.num_attention_heads = c.num_attention_heads;
        a.num_key_value_heads = c.num_key_value_heads;
        a.head_dim = c.head_dim;
        constexpr std::string_view q_words = "[num_attention_heads * head_dim, hidden_size]";
        constexpr std::string_view kv_words = "[num_key_value_heads * head_dim, hidden_size]";
        matrix(a.q_proj, at + "self_attn.q_proj", Nq * Dh, H, q_words, rotary);
        matrix(a.k_proj, at + "self_attn.k_proj", Nkv * Dh, H, kv_words, rotary);
        matrix(a.v_proj, at + "self_attn.v_proj", Nkv * Dh, H, kv_words);
        matrix(a.o_proj, at + "self_attn.o_proj", H, Nq * Dh, "[hidden_size, num_attention_heads * head_dim]");
        bias(c.attention_bias, a.q_bias, at + "self_attn.q_proj", Nq * Dh, "[num_attention_heads * head_dim]", rotary);
        bias(c.attention_bias, a.k_bias, at + "self_attn.k_proj", Nkv * Dh, "[num_key_value_heads * head_dim]", rotary);
        bias(c.attention_bias, a.v_bias, at + "self_attn.v_proj", Nkv * Dh, "[num_key_value_heads * head_dim]");
        bias(c.attention_bias, a.o_bias, at + "self_attn.o_proj", H, "[hidden_size]");

        norm(layer.post_attention_layernorm, at + "post_attention_layernorm");
        matrix(layer.mlp.gate_proj, at + "mlp.gate_proj", F, H, "[intermediate_size, hidden_size]");
        matrix(layer.mlp.up_proj, at + "mlp.up_proj", F, H, "[intermediate_size, hidden_size]");
        matrix(layer.mlp.down_proj, at + "mlp.down_proj", H, F, "[hidden_size, intermediate_size]");
        bias(c.mlp_bias, layer.mlp.gate_bias, at + "mlp.gate_proj", F, "[intermediate_size]");
        bias(c.mlp_bias, layer.mlp.up_bias, at + "mlp.up_proj", F, "[intermediate_size]");
        bias(c.mlp_bias, layer.mlp.down_bias, at + "mlp.down_proj", H, "[hidden_size]");
    }
    norm(w.norm, "model.norm");

    // Tied if the config says so, or says nothing and there is no output matrix.
    if (c.tie_word_embeddings.value_or(!expected.contains("lm_head.weight"))) {
        expected.allow("lm_head.weight");
    } else {
        require<FormatError>(expected.contains("lm_head.weight"), checkpoint.path.string(),
                             " has no tensor 'lm_head.weight', although its config says tie_word_embeddings false");
        matrix(w.lm_head, "lm_head", V, H, "[vocab_size, hidden_size]");
    }
}

}  // namespace loading

/// Brings the weights of a checkpoint into memory as T: where they lie in the file if they are of that type and
/// aligned, otherwise converted, rounded once, on all threads. Rows of q and k in interleaved rotary order are put in
/// half-split order, so that one model gives the same bits from any format.
/// Everything is checked before memory is allocated for anything. Throws FormatError and UnsupportedError naming file,
/// tensor, found and expected; OutOfMemoryError; CancelledError if options.progress returns false.
template <DType T, Device D>
    requires std::same_as<D, CPU>
[[nodiscard]] LlamaWeights<T, D> llama_load(Context<D>& ctx, const Checkpoint& checkpoint,
                                            const LoadOptions& options = {}) {
    LlamaWeights<T, D> weights;
    loading::ExpectedTensors expected(checkpoint);
    loading::Fill<T> fill;
    ctx.serial([&] {  // eps and the frequencies are rounded as the library rounds, whatever the host's mode
        loading::plan(checkpoint, weights, expected, fill);
        expected.refuse_leftovers();
        weights.inv_freq = rope_inv_freq(checkpoint.config.rope_parameters, checkpoint.config.head_dim);
    });
    fill.run(ctx, weights, options);
    if (!weights.lm_head) weights.lm_head = weights.embed_tokens;
    return weights;
}

}  // namespace l3::inline v0
