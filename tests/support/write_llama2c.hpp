#pragma once
// Writes llama2.c checkpoints (legacy header) for tests.
#include "file_tensor.hpp"
#include "paths.hpp"
#include <map>
#include <stdexcept>

namespace support {

/// The seven numbers of the legacy header, in its order.
struct Llama2cHeader {
    std::int32_t hidden_size, intermediate_size, num_hidden_layers, num_attention_heads, num_key_value_heads,
        vocab_size, max_position_embeddings;
};

/// The bytes of a legacy checkpoint from f32 tensors under their Hugging Face names, each written as it is (the rows of
/// q and k are expected in interleaved rotary order). Untied when "lm_head.weight" is among them. The two rotary
/// tables, which readers skip, are filled with NaN so that a reader which uses them is found out.
inline std::string llama2c_bytes(Llama2cHeader h, const std::map<std::string, std::vector<float>>& tensors) {
    const bool untied = tensors.contains("lm_head.weight");
    if (untied) h.vocab_size = -h.vocab_size;
    const std::int32_t numbers[] = {
        h.hidden_size,         h.intermediate_size, h.num_hidden_layers,      h.num_attention_heads,
        h.num_key_value_heads, h.vocab_size,        h.max_position_embeddings};
    std::string out = raw_bytes(std::span<const std::int32_t>(numbers));
    const auto put = [&](const std::string& name) {
        const auto found = tensors.find(name);
        if (found == tensors.end()) throw std::runtime_error("write_llama2c: no tensor " + name);
        out += raw_bytes(std::span<const float>(found->second));
    };
    const auto put_layers = [&](const std::string& name) {
        for (int i = 0; i < h.num_hidden_layers; ++i) put("model.layers." + std::to_string(i) + "." + name + ".weight");
    };
    put("model.embed_tokens.weight");
    put_layers("input_layernorm");
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"}) put_layers(std::string("self_attn.") + name);
    put_layers("post_attention_layernorm");
    for (const char* name : {"gate_proj", "down_proj", "up_proj"}) put_layers(std::string("mlp.") + name);
    put("model.norm.weight");
    const int head_dim = h.num_attention_heads ? h.hidden_size / h.num_attention_heads : 0;
    const std::vector<float> tables(std::size_t(h.max_position_embeddings * (head_dim / 2) * 2), std::nanf(""));
    out += raw_bytes(std::span<const float>(tables));
    if (untied) put("lm_head.weight");
    return out;
}

inline void write_llama2c(const std::filesystem::path& path, const Llama2cHeader& header,
                          const std::map<std::string, std::vector<float>>& tensors) {
    write_file(path, llama2c_bytes(header, tensors));
}

}  // namespace support
