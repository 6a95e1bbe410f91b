#pragma once
// A whole Llama in the bits of the numerics contract: plain scalar f32, one token after the other, nothing shared with
// the library but its exponential and its rotary tables, which are tested on their own.
#include "reference_llama.hpp"

namespace reference {

/// Logits [M, V] as the library must give them, bit for bit. cos, sin: f32 [M, Dh/2]; exp: f32 to f32.
template <class T, class Exp>
std::vector<float> contract_llama(const LlamaConfig& config, const Weights& weights, std::span<const std::int32_t> ids,
                                  const float* cos, const float* sin, const Exp& exp) {
    const std::size_t H = std::size_t(config.hidden_size), F = std::size_t(config.intermediate_size),
                      Dh = std::size_t(config.head_dim), Nq = std::size_t(config.num_attention_heads),
                      Nkv = std::size_t(config.num_key_value_heads), M = ids.size();
    std::map<std::string, std::vector<T>> matrices;
    std::map<std::string, std::vector<float>> vectors;
    for (const auto& [name, matrix] : weights)
        for (double x : matrix.values)
            if (name.ends_with("bias") || name.ends_with("norm.weight")) vectors[name].push_back(float(x));
            else matrices[name].push_back(contract::round_to<T>(float(x)));

    using Row = std::vector<float>;
    using Input = std::vector<T>;
    const auto norm = [&](const Row& x, const std::string& name) {
        Input y(H);
        contract::rms_norm(y.data(), x.data(), vectors.at(name + ".weight").data(), std::int64_t(H),
                           float(config.rms_norm_eps));
        return y;
    };
    const auto linear = [&](const Input& a, const std::string& name) {
        const std::vector<T>& W = matrices.at(name + ".weight");
        const auto bias = vectors.find(name + ".bias");
        Row out(W.size() / a.size());
        for (std::size_t n = 0; n < out.size(); ++n) {
            out[n] = contract::dot(W.data() + n * a.size(), a.data(), std::int64_t(a.size()));
            if (bias != vectors.end()) out[n] = contract::sum(out[n], bias->second[n]);
        }
        return out;
    };
    const auto add = [](Row& x, const Row& y) {
        for (std::size_t i = 0; i < x.size(); ++i) x[i] = contract::sum(x[i], y[i]);
    };
    const auto rotate = [&](Row& x, std::size_t m) {
        for (std::size_t head = 0; head < x.size(); head += Dh)
            for (std::size_t i = 0; i < Dh / 2; ++i)
                contract::rope(x[head + i], x[head + Dh / 2 + i], cos[m * Dh / 2 + i], sin[m * Dh / 2 + i]);
    };
    const auto rounded = [](const Row& x) {
        Input y;
        for (float v : x) y.push_back(contract::round_to<T>(v));
        return y;
    };

    const std::string head = config.tie_word_embeddings ? "model.embed_tokens" : "lm_head";
    std::vector<Input> k(std::size_t(config.num_hidden_layers)), v = k;  // per layer: [positions so far, Nkv*Dh]
    Row logits;
    for (std::size_t m = 0; m < M; ++m) {
        Row x;
        for (std::size_t i = 0; i < H; ++i)
            x.push_back(contract::widen(matrices.at("model.embed_tokens.weight")[std::size_t(ids[m]) * H + i]));
        for (std::size_t i = 0; i < k.size(); ++i) {
            const std::string layer = "model.layers." + std::to_string(i) + ".";
            const Input normed = norm(x, layer + "input_layernorm");
            Row q = linear(normed, layer + "self_attn.q_proj"), key = linear(normed, layer + "self_attn.k_proj");
            rotate(q, m), rotate(key, m);
            const Input q_rounded = rounded(q), k_rounded = rounded(key),
                        v_rounded = rounded(linear(normed, layer + "self_attn.v_proj"));
            k[i].insert(k[i].end(), k_rounded.begin(), k_rounded.end());
            v[i].insert(v[i].end(), v_rounded.begin(), v_rounded.end());
            Input attn(Nq * Dh);
            for (std::size_t h = 0; h < Nq; ++h) {
                const std::size_t kv = h / (Nq / Nkv) * Dh;
                contract::attention(attn.data() + h * Dh, q_rounded.data() + h * Dh, k[i].data() + kv, v[i].data() + kv,
                                    std::int64_t(Nkv * Dh), std::int64_t(m + 1), std::int64_t(Dh), exp);
            }
            add(x, linear(attn, layer + "self_attn.o_proj"));
            const Input h_in = norm(x, layer + "post_attention_layernorm");
            const Row gate = linear(h_in, layer + "mlp.gate_proj"), up = linear(h_in, layer + "mlp.up_proj");
            Row h(F);
            for (std::size_t f = 0; f < F; ++f) h[f] = contract::silu_mul(gate[f], up[f], exp);
            add(x, linear(rounded(h), layer + "mlp.down_proj"));
        }
        const Row row = linear(norm(x, "model.norm"), head);
        logits.insert(logits.end(), row.begin(), row.end());
    }
    return logits;
}

}  // namespace reference
