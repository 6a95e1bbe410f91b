#pragma once
// A Llama in naive double precision: from the papers and the public meaning of config.json; no code of the library.
#include "reference.hpp"
#include <map>
#include <numbers>
#include <string>

namespace reference {

/// The fields of config.json that the mathematics depends on.
struct LlamaConfig {
    int hidden_size = 64, intermediate_size = 128, num_hidden_layers = 2, num_attention_heads = 4,
        num_key_value_heads = 2, head_dim = 16, vocab_size = 256, max_position_embeddings = 512;
    double rms_norm_eps = 1e-5, rope_theta = 10000;
    std::string rope_type = "default";  // default, linear, llama3
    double rope_factor = 1, low_freq_factor = 1, high_freq_factor = 4;
    int original_max_position_embeddings = 8192;
    bool tie_word_embeddings = false, attention_bias = false, mlp_bias = false;
};

/// By the names of a Hugging Face checkpoint; matrices [out, in], vectors as one row.
using Weights = std::map<std::string, Matrix>;

/// The angle per position of each pair of dimensions, [Dh/2].
inline std::vector<double> rope_inv_freq(const LlamaConfig& config) {
    std::vector<double> inv_freq;
    for (int i = 0; i < config.head_dim / 2; ++i) {
        double f = std::pow(config.rope_theta, -2.0 * i / config.head_dim);
        if (config.rope_type == "linear") f /= config.rope_factor;
        if (config.rope_type == "llama3") {
            // Turns within the original context: many stay as they are, few are slowed down, a ramp between.
            const double turns = config.original_max_position_embeddings * f / (2 * std::numbers::pi);
            const double kept = (turns - config.low_freq_factor) / (config.high_freq_factor - config.low_freq_factor);
            const double ramp = std::clamp(kept, 0.0, 1.0);
            f = ramp * f + (1 - ramp) * f / config.rope_factor;
        }
        inv_freq.push_back(f);
    }
    return inv_freq;
}

/// Logits [M, V] at every position of a prompt. With a rounding, values are rounded where the library rounds to T
/// (weights that are matrices, inputs of products, q, k, v).
inline Matrix llama(const LlamaConfig& config, const Weights& weights, std::span<const std::int32_t> ids,
                    Rounding round = unrounded) {
    const auto vector = [&](const std::string& name) { return weights.at(name); };
    const auto matrix = [&](const std::string& name) { return rounded(weights.at(name), round); };
    const auto bias = [&](bool used, const std::string& name) { return used ? weights.at(name) : Matrix(); };
    const double eps = double(float(config.rms_norm_eps));  // kept in f32 everywhere
    const std::vector<double> inv_freq = rope_inv_freq(config);
    const RopeTable table = rope_table(inv_freq, 0, std::int64_t(ids.size()));

    const Matrix embed_tokens = matrix("model.embed_tokens.weight");
    Matrix x = embed(ids, embed_tokens);
    for (int i = 0; i < config.num_hidden_layers; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        const std::string attn = layer + "self_attn.", mlp = layer + "mlp.";
        const QKV qkv = norm_qkv(x, vector(layer + "input_layernorm.weight"), eps, matrix(attn + "q_proj.weight"),
                                 matrix(attn + "k_proj.weight"), matrix(attn + "v_proj.weight"), table, config.head_dim,
                                 round, bias(config.attention_bias, attn + "q_proj.bias"),
                                 bias(config.attention_bias, attn + "k_proj.bias"),
                                 bias(config.attention_bias, attn + "v_proj.bias"));
        const Matrix a = rounded(attention(qkv.q, qkv.k, qkv.v, config.head_dim, 0), round);
        x = linear_add(x, a, matrix(attn + "o_proj.weight"), bias(config.attention_bias, attn + "o_proj.bias"));
        const Matrix h = norm_gate_up(x, vector(layer + "post_attention_layernorm.weight"), eps,
                                      matrix(mlp + "gate_proj.weight"), matrix(mlp + "up_proj.weight"), round,
                                      bias(config.mlp_bias, mlp + "gate_proj.bias"),
                                      bias(config.mlp_bias, mlp + "up_proj.bias"));
        x = linear_add(x, h, matrix(mlp + "down_proj.weight"), bias(config.mlp_bias, mlp + "down_proj.bias"));
    }
    const Matrix normed = rounded(rms_norm(x, vector("model.norm.weight"), eps), round);
    return linear(normed, config.tie_word_embeddings ? embed_tokens : matrix("lm_head.weight"));
}

}  // namespace reference
