#pragma once
#include "../../io/convert.hpp"
#include "../../io/gguf.hpp"
#include "../llama_config.hpp"

namespace l3::inline v0 {

namespace llama_config {

/// Keys of the architecture llama, without "llama.", that config_from_gguf reads.
inline constexpr std::string_view gguf_understood[] = {
    "attention.head_count", "attention.head_count_kv", "attention.key_length", "attention.layer_norm_rms_epsilon",
    "attention.sliding_window", "attention.value_length", "block_count", "context_length", "embedding_length",
    "feed_forward_length", "rope.dimension_count", "rope.freq_base", "rope.scale_linear", "rope.scaling.factor",
    "rope.scaling.type", "vocab_size",
};
/// Keys that change nothing, whatever their value. The layout of q and k is that of the architecture.
inline constexpr std::string_view gguf_bookkeeping[] = {
    "rope.scaling.finetuned", "rope.scaling.original_context_length", "tensor_data_layout",
};
/// Keys that change nothing with this one value.
struct GgufNeutral {
    std::string_view key;
    double value;
};
inline constexpr GgufNeutral gguf_neutral[] = {
    {"attention.clamp_kqv", 0}, {"attention.max_alibi_bias", 0}, {"expert_count", 0}, {"expert_used_count", 0},
    {"logit_scale", 1},         {"rope.scaling.attn_factor", 1},
};

/// Throws UnsupportedError for every key "llama.*" that is not known to change nothing.
inline void refuse_unknown_keys(const io::Gguf& gguf) {
    for (const auto& [full, value] : gguf.metadata) {
        if (!full.starts_with("llama.")) continue;
        const std::string_view key = std::string_view(full).substr(6);
        if (std::ranges::find(gguf_understood, key) != std::end(gguf_understood)) continue;
        if (std::ranges::find(gguf_bookkeeping, key) != std::end(gguf_bookkeeping)) continue;
        const auto* neutral = std::ranges::find(gguf_neutral, key, &GgufNeutral::key);
        require<UnsupportedError>(neutral != std::end(gguf_neutral), gguf.path.string(), ": metadata '", full,
                                  "' is not known: l3 does not know what it changes in the model");
        const auto found = gguf.metadata.get<double>(full);
        require<UnsupportedError>(found == neutral->value, gguf.path.string(), ": metadata '", full, "' is ", found,
                                  ", expected ", neutral->value, ", the only value that is supported");
    }
}

inline RopeParameters rope_from_gguf(const io::Gguf& gguf) {
    const io::GgufMetadata& meta = gguf.metadata;
    RopeParameters rope;
    rope.rope_theta = meta.get_or("llama.rope.freq_base", rope.rope_theta);
    // A factor without a type means linear, and 0 means none, as in llama.cpp.
    const auto type = meta.get_or<std::string>("llama.rope.scaling.type", "linear");
    require<UnsupportedError>(type == "none" || type == "linear", gguf.path.string(), ": rope scaling type '", type,
                              "' is not supported; supported are none and linear");
    const double factor = meta.get_or("llama.rope.scaling.factor", meta.get_or("llama.rope.scale_linear", 0.0));
    if (type == "linear" && factor != 0 && factor != 1) {
        rope.rope_type = RopeType::linear;
        rope.factor = factor;
    }
    if (const io::StoredTensor* divisors = gguf.tensors.find("rope_freqs.weight")) {
        require<UnsupportedError>(divisors->type == io::StorageType::f32, divisors->where(), " has the type ",
                                  io::storage_name(divisors->type), ", expected F32");
        std::vector<f32> values(std::size_t(divisors->shape.numel()));
        io::convert_rows(*divisors, 0, divisors->shape.rows(), values.data());
        rope.divisors.assign(values.begin(), values.end());
    }
    return rope;
}

}  // namespace llama_config

/// The metadata of a GGUF file of the architecture llama (Llama and Mistral). Throws FormatError and UnsupportedError
/// naming file, key, found and expected. Biases and the output matrix are there or not; the tensors tell.
/// Keys: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
inline LlamaConfig config_from_gguf(const io::Gguf& gguf) {
    const io::GgufMetadata& meta = gguf.metadata;
    const std::string where = gguf.path.string();
    const auto architecture = meta.get<std::string>("general.architecture");
    require<UnsupportedError>(architecture == "llama", where, ": architecture '", architecture,
                              "' is not supported; supported is llama");
    if (const auto type = meta.get_or<std::string>("general.type", "model"); type != "model")
        fail<UnsupportedError>(where, ": is of the type '", type, "', expected a model");
    llama_config::refuse_unknown_keys(gguf);

    LlamaConfig c;
    c.hidden_size = meta.get<int>("llama.embedding_length");
    require<FormatError>(c.hidden_size > 0, where, ": metadata 'llama.embedding_length' is ", c.hidden_size,
                         ", expected a positive number");
    c.intermediate_size = meta.get<int>("llama.feed_forward_length");
    c.num_hidden_layers = meta.get<int>("llama.block_count");
    c.num_attention_heads = meta.get<int>("llama.attention.head_count");
    c.num_key_value_heads = meta.get_or("llama.attention.head_count_kv", c.num_attention_heads);
    c.max_position_embeddings = meta.get<int>("llama.context_length");
    c.rms_norm_eps = meta.get<double>("llama.attention.layer_norm_rms_epsilon");
    if (const auto length = meta.find<int>("llama.attention.key_length")) c.head_dim = *length;
    else c.head_dim = derived_head_dim(c.hidden_size, c.num_attention_heads, where);
    for (const char* same : {"llama.attention.value_length", "llama.rope.dimension_count"})
        if (const int length = meta.get_or(same, c.head_dim); length != c.head_dim)
            fail<UnsupportedError>(where, ": metadata '", same, "' is ", length, ", expected the length of keys, ",
                                   c.head_dim);
    const int window = meta.get_or("llama.attention.sliding_window", 0);
    require<UnsupportedError>(
        window == 0 || window >= c.max_position_embeddings, where, ": metadata 'llama.attention.sliding_window' is ",
        window, ", less than the context length ", c.max_position_embeddings, "; attention windows are not supported");
    if (const auto size = meta.find<int>("llama.vocab_size")) c.vocab_size = *size;
    else c.vocab_size = int(std::min<Index>(gguf.tensors.at("token_embd.weight").shape.rows(), 0x7FFFFFFF));
    c.rope_parameters = llama_config::rope_from_gguf(gguf);
    c.attention_bias = gguf.tensors.contains("blk.0.attn_q.bias");
    c.mlp_bias = gguf.tensors.contains("blk.0.ffn_gate.bias");
    const auto id = [&meta](const char* key) { return meta.find<Token>(key); };
    c.bos_token_id = id("tokenizer.ggml.bos_token_id");
    if (const auto eos = id("tokenizer.ggml.eos_token_id")) c.eos_token_id = {*eos};
    check_config(c, where);
    return c;
}

}  // namespace l3::inline v0
