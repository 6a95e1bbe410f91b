#pragma once
// What is measured: the weights of a model file, or random ones in the shape of a known model or of a config.json.
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
    /// So many ids, spread over the vocabulary.
    [[nodiscard]] std::vector<Token> some_ids(Index count) const {
        std::vector<Token> ids;
        for (Index i = 0; i < count; ++i) ids.push_back(Token(i * 7919 % config->vocab_size));
        return ids;
    }
};

/// Tokens of a prompt evaluated at once, as a session does.
inline constexpr Index chunk = SessionOptions{}.chunk;

/// Evaluates ids [begin, end), so many in a call, each with the logits of its last token.
template <DType T>
void evaluate(Sequence<T, CPU>& sequence, std::span<const Token> ids, Index begin, Index end, Index at_once) {
    for (; begin < end; begin += at_once) {
        const Index n = std::min(at_once, end - begin);
        const int last = int(n - 1);
        sequence.evaluate(ids.subspan(std::size_t(begin), std::size_t(n)), std::span(&last, 1));
    }
}

template <DType T>
Subject<T> from_file(const std::filesystem::path& path, const ModelOptions& options) {
    const auto model = std::make_shared<const Model<T, CPU>>(path, options);
    const auto name = path.has_filename() ? path.filename() : path.parent_path().filename();
    return {name.string(), {model, &model->config()}, {model, &model->weights()}, model->load_ms()};
}

/// Numbers uniform in [-scale, scale).
template <DType T>
void fill_random(Context<CPU>& ctx, T* data, Index count, f32 scale, std::uint64_t stream) {
    ctx.parallel(count, 1 << 16, [&](Index begin, Index end, int) {
        for (Index i = begin; i < end; ++i) {
            std::uint64_t z = ((stream << 40) + std::uint64_t(i)) * 0x9E3779B97F4A7C15u;
            z = (z ^ (z >> 29)) * 0xBF58476D1CE4E5B9u;
            data[i] = T(f32(std::int32_t(z >> 32)) * 0x1p-31f * scale);
        }
    });
}

struct NamedShape {
    const char* name;
    int hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads, head_dim;
    int vocab_size;
    bool tied;
};
inline constexpr NamedShape named_shapes[] = {
    {"smollm2-135m", 576, 1536, 30, 9, 3, 64, 49152, true},
    {"llama-3.2-1b", 2048, 8192, 16, 32, 8, 64, 128256, true},
    {"llama-3.1-8b", 4096, 14336, 32, 32, 8, 128, 128256, false},
};

/// The config of a known model; name is one of named_shapes.
inline LlamaConfig named_config(std::string_view name) {
    const NamedShape& shape = *std::ranges::find(named_shapes, name, &NamedShape::name);
    LlamaConfig c;
    c.hidden_size = shape.hidden_size;
    c.intermediate_size = shape.intermediate_size;
    c.num_hidden_layers = shape.num_hidden_layers;
    c.num_attention_heads = shape.num_attention_heads;
    c.num_key_value_heads = shape.num_key_value_heads;
    c.head_dim = shape.head_dim;
    c.vocab_size = shape.vocab_size;
    c.max_position_embeddings = 131072;
    c.tie_word_embeddings = shape.tied;
    return c;
}

/// The config in a config.json of Hugging Face. Throws IoError, FormatError, UnsupportedError naming file and key.
inline LlamaConfig config_from_file(const std::filesystem::path& path) {
    const nlohmann::json json = io::read_json(path);
    return config_from_json(io::JsonObject(json, path.string()));
}

/// Fills weights with numbers of the size that training leaves.
template <DType T>
class RandomWeights {
  public:
    RandomWeights(Context<CPU>& ctx, const LlamaConfig& config, LlamaWeights<T, CPU>& weights)
        : ctx_(ctx), eps_(f32(config.rms_norm_eps)), weights_(weights) {}

    TensorView<const T, CPU> matrix(Index rows, Index cols) {
        return weights_.matrices.emplace_back(Shape{rows, cols});  // filled later
    }
    /// Nothing if the model has none.
    TensorView<const f32, CPU> bias(bool has, Index n) {
        if (!has) return {};
        Tensor<f32, CPU> t({n});
        fill(t, 0.1f);
        return weights_.vectors.emplace_back(std::move(t));
    }
    Norm<CPU> norm(Index n) {
        Tensor<f32, CPU> t({n});
        std::fill_n(t.data(), n, 1.0f);
        weights_.copied_bytes += t.nbytes();
        return {weights_.vectors.emplace_back(std::move(t)), eps_};
    }

    /// Fills the matrices, once all are there: then huge pages can span several of them, as after loading a file.
    void fill_matrices() {
        for (const Tensor<T, CPU>& t : weights_.matrices) prefer_huge_pages(t.data(), t.nbytes());
        for (const Tensor<T, CPU>& t : weights_.matrices) fill(t, 1 / std::sqrt(f32(t.cols())));
    }

  private:
    template <DType E>
    void fill(const Tensor<E, CPU>& t, f32 scale) {
        fill_random(ctx_, t.data(), t.numel(), scale, ++count_);
        weights_.copied_bytes += t.nbytes();
    }

    Context<CPU>& ctx_;
    f32 eps_;
    LlamaWeights<T, CPU>& weights_;
    std::uint64_t count_ = 0;
};

template <DType T>
Subject<T> random_weights(std::string shape, LlamaConfig c) {
    const Index H = c.hidden_size, F = c.intermediate_size, V = c.vocab_size;
    const Index q = Index{c.num_attention_heads} * c.head_dim, kv = Index{c.num_key_value_heads} * c.head_dim;

    const auto start = std::chrono::steady_clock::now();
    LlamaWeights<T, CPU> w;
    Context<CPU> ctx;
    RandomWeights<T> random(ctx, c, w);
    w.embed_tokens = random.matrix(V, H);
    for (int i = 0; i < c.num_hidden_layers; ++i) {
        LlamaLayer<T, CPU>& layer = w.layers.emplace_back();
        layer.input_layernorm = random.norm(H);
        layer.self_attn = {
            .q_proj = random.matrix(q, H), .k_proj = random.matrix(kv, H), .v_proj = random.matrix(kv, H),
            .o_proj = random.matrix(H, q),
            .q_bias = random.bias(c.attention_bias, q), .k_bias = random.bias(c.attention_bias, kv),
            .v_bias = random.bias(c.attention_bias, kv), .o_bias = random.bias(c.attention_bias, H),
            .num_attention_heads = c.num_attention_heads, .num_key_value_heads = c.num_key_value_heads,
            .head_dim = c.head_dim};
        layer.post_attention_layernorm = random.norm(H);
        layer.mlp = {
            .gate_proj = random.matrix(F, H), .up_proj = random.matrix(F, H), .down_proj = random.matrix(H, F),
            .gate_bias = random.bias(c.mlp_bias, F), .up_bias = random.bias(c.mlp_bias, F),
            .down_bias = random.bias(c.mlp_bias, H)};
    }
    w.norm = random.norm(H);
    w.lm_head = c.tie_word_embeddings.value_or(false) ? w.embed_tokens : random.matrix(V, H);
    random.fill_matrices();
    w.inv_freq = rope_inv_freq(c.rope_parameters, c.head_dim);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    return {std::move(shape), std::make_shared<LlamaConfig>(std::move(c)),
            std::make_shared<LlamaWeights<T, CPU>>(std::move(w)), ms};
}

}  // namespace bench
