#pragma once
// Where the time of a decoded token goes: forward() of model/llama.hpp once more, with a clock between its operations.
#include "limits.hpp"
#include "subject.hpp"
#include <array>

namespace bench {

enum Part { norm_qkv, attention, o_proj, norm_gate_up, down_proj, norm_logits, rest, part_count };
inline constexpr std::array<const char*, part_count> part_names = {
    "norm_qkv", "attention", "linear_add (o_proj)", "norm_gate_up", "linear_add (down_proj)", "norm_logits", "rest"};

/// Milliseconds of a token in each part, all layers together; rest: embedding, rotary table, room in the cache.
using Parts = std::array<double, part_count>;

/// Gives the time since the last lap to a part.
class Laps {
  public:
    void end(Part part) {
        const auto now = std::chrono::steady_clock::now();
        ms_[part] += std::chrono::duration<double, std::milli>(now - last_).count();
        last_ = now;
    }
    [[nodiscard]] const Parts& ms() const { return ms_; }

  private:
    Parts ms_{};
    std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

/// Evaluates one token as forward() does.
template <DType T>
Parts timed_token(Context<CPU>& ctx, const Subject<T>& subject, KVCache<T, CPU>& cache, Activations<T, CPU>& a,
                  Token token) {
    const LlamaConfig& config = *subject.config;
    const LlamaWeights<T, CPU>& weights = *subject.weights;
    const int row = 0;
    Laps laps;
    const Positions positions = cache.append(1);
    a.prepare(config, 1, 1);
    ops::embed<T, CPU>(ctx, a.x, std::span(&token, 1), weights.embed_tokens);
    ops::rope_table<CPU>(ctx, a.cos, a.sin, weights.inv_freq, positions);
    const Rotary<CPU> rotary{a.cos, a.sin};
    laps.end(rest);
    for (int i = 0; i < config.num_hidden_layers; ++i) {
        const LlamaLayer<T, CPU>& layer = weights.layers[std::size_t(i)];
        const KVView<T, CPU> kv = cache.layer(i);
        ops::norm_qkv<T, CPU>(ctx, a.q, kv, a.x, layer.input_layernorm, layer.self_attn, rotary, positions);
        laps.end(norm_qkv);
        ops::attention<T, CPU>(ctx, a.attn, a.q, kv, positions);
        laps.end(attention);
        ops::linear_add<T, CPU>(ctx, a.x, a.attn, layer.self_attn.o_proj, layer.self_attn.o_bias);
        laps.end(o_proj);
        ops::norm_gate_up<T, CPU>(ctx, a.h, a.x, layer.post_attention_layernorm, layer.mlp);
        laps.end(norm_gate_up);
        ops::linear_add<T, CPU>(ctx, a.x, a.h, layer.mlp.down_proj, layer.mlp.down_bias);
        laps.end(down_proj);
    }
    ops::norm_logits<T, CPU>(ctx, a.logits, a.x, std::span(&row, 1), weights.norm, weights.lm_head);
    laps.end(norm_logits);
    return laps.ms();
}

/// Medians over so many tokens after a context, and some more to warm up.
template <DType T>
Parts breakdown(const Subject<T>& subject, int threads, Index context, Index tokens) {
    constexpr Index warm_up = 2;
    Context<CPU> ctx(threads);
    KVCache<T, CPU> cache(*subject.config, context + tokens);
    Activations<T, CPU> a;
    const std::vector<Token> ids = subject.some_ids(context + tokens);
    for (Index at = 0; at < context; at += chunk) {
        const Index n = std::min(chunk, context - at);
        forward<T, CPU>(ctx, *subject.config, *subject.weights, cache, a,
                        std::span(ids).subspan(std::size_t(at), std::size_t(n)), {});
    }
    std::array<std::vector<double>, part_count> samples;
    for (Index i = -warm_up; i < tokens; ++i) {
        if (i <= 0) cache.truncate(context);
        const Parts ms = timed_token(ctx, subject, cache, a, ids[std::size_t(context + std::max<Index>(i, 0))]);
        for (std::size_t part = 0; i >= 0 && part < part_count; ++part) samples[part].push_back(ms[part]);
    }
    Parts medians;
    std::ranges::transform(samples, medians.begin(), [](const auto& values) { return median(values); });
    return medians;
}

}  // namespace bench
