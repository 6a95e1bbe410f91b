#pragma once
// What is measured: the weights of a model file, or random ones in the shape of a known model.
#include <filesystem>
#include <l3/l3.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace bench {

using namespace l3;

template <DType T>
struct Subject {
    std::string shape;
    std::shared_ptr<const LlamaConfig> config;
    std::shared_ptr<const LlamaWeights<T, CPU>> weights;
    double load_ms = 0;

    [[nodiscard]] Sequence<T, CPU> new_sequence(int threads, Index capacity) const {
        return {config, weights, Context<CPU>(threads), capacity};
    }
};

template <DType T>
Subject<T> from_file(const std::filesystem::path& path, const ModelOptions& options) {
    const auto model = std::make_shared<const Model<T, CPU>>(path, options);
    const auto name = path.has_filename() ? path.filename() : path.parent_path().filename();
    return {name.string(), {model, &model->config()}, {model, &model->weights()}, model->load_ms()};
}

struct NamedShape {
    const char* name;
    int hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim, vocab_size;
    bool tied;
};
inline constexpr NamedShape named_shapes[] = {
    {"smollm2-135m", 576, 1536, 30, 9, 3, 64, 49152, true},
    {"llama-3.2-1b", 2048, 8192, 16, 32, 8, 64, 128256, true},
    {"llama-3.1-8b", 4096, 14336, 32, 32, 8, 128, 128256, false},
};

/// Fills weights with numbers of the size that training leaves.
template <DType T>
class RandomWeights {
  public:
    RandomWeights(Context<CPU>& ctx, LlamaWeights<T, CPU>& weights) : ctx_(ctx), weights_(weights) {}

    TensorView<const T, CPU> matrix(Index rows, Index cols) {
        Tensor<T, CPU> t({rows, cols});
        const f32 scale = 1 / std::sqrt(f32(cols));
        const std::uint64_t stream = ++count_ << 40;
        ctx_.parallel(t.numel(), 1 << 16, [&](Index begin, Index end, int) {
            for (Index i = begin; i < end; ++i) {
                std::uint64_t z = (stream + std::uint64_t(i)) * 0x9E3779B97F4A7C15u;
                z = (z ^ (z >> 29)) * 0xBF58476D1CE4E5B9u;
                t.data()[i] = T(f32(std::int32_t(z >> 32)) * 0x1p-31f * scale);
            }
        });
        weights_.copied_bytes += t.nbytes();
        return weights_.matrices.emplace_back(std::move(t));
    }
    Norm<CPU> norm(Index n) {
        Tensor<f32, CPU> t({n});
        std::fill_n(t.data(), n, 1.0f);
        weights_.copied_bytes += t.nbytes();
        return {weights_.vectors.emplace_back(std::move(t)), 1e-5f};
    }

  private:
    Context<CPU>& ctx_;
    LlamaWeights<T, CPU>& weights_;
    std::uint64_t count_ = 0;
};

template <DType T>
Subject<T> random_weights(const NamedShape& shape) {
    LlamaConfig c;
    c.hidden_size = shape.hidden_size;
    c.intermediate_size = shape.intermediate_size;
    c.num_hidden_layers = shape.num_hidden_layers;
    c.num_attention_heads = shape.num_attention_heads;
    c.num_key_value_heads = shape.num_key_value_heads;
    c.head_dim = shape.head_dim;
    c.vocab_size = shape.vocab_size;
    c.max_position_embeddings = 131072;
    const Index H = c.hidden_size, F = c.intermediate_size, V = c.vocab_size;
    const Index q = Index{c.num_attention_heads} * c.head_dim, kv = Index{c.num_key_value_heads} * c.head_dim;

    const auto start = std::chrono::steady_clock::now();
    LlamaWeights<T, CPU> w;
    Context<CPU> ctx;
    RandomWeights<T> random(ctx, w);
    w.embed_tokens = random.matrix(V, H);
    for (int i = 0; i < c.num_hidden_layers; ++i) {
        LlamaLayer<T, CPU>& layer = w.layers.emplace_back();
        layer.input_layernorm = random.norm(H);
        SelfAttention<T, CPU>& a = layer.self_attn;
        a.q_proj = random.matrix(q, H);
        a.k_proj = random.matrix(kv, H);
        a.v_proj = random.matrix(kv, H);
        a.o_proj = random.matrix(H, q);
        a.num_attention_heads = c.num_attention_heads;
        a.num_key_value_heads = c.num_key_value_heads;
        a.head_dim = c.head_dim;
        layer.post_attention_layernorm = random.norm(H);
        layer.mlp.gate_proj = random.matrix(F, H);
        layer.mlp.up_proj = random.matrix(F, H);
        layer.mlp.down_proj = random.matrix(H, F);
    }
    w.norm = random.norm(H);
    w.lm_head = shape.tied ? w.embed_tokens : random.matrix(V, H);
    w.inv_freq = rope_inv_freq(c.rope_parameters, c.head_dim);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return {shape.name, std::make_shared<LlamaConfig>(std::move(c)), std::make_shared<LlamaWeights<T, CPU>>(std::move(w)), ms};
}

}  // namespace bench
