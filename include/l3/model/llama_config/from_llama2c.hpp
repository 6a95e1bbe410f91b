#pragma once
#include "../../io/convert.hpp"
#include "../../io/llama2c.hpp"
#include "../llama_config.hpp"

namespace l3::inline v0 {

/// The header of a llama2.c checkpoint, which says nothing of theta and eps: they are those of llama2.c, 10000 and
/// 1e-5. Throws FormatError, and UnsupportedError if the rotary tables in the file were made with another theta
/// (llama3.c writes such files). Tables that hold no numbers at that place say nothing.
inline LlamaConfig config_from_llama2c(const io::Llama2c& file) {
    LlamaConfig c;
    c.hidden_size = file.hidden_size;
    c.intermediate_size = file.intermediate_size;
    c.num_hidden_layers = file.num_hidden_layers;
    c.num_attention_heads = file.num_attention_heads;
    c.num_key_value_heads = file.num_key_value_heads;
    c.head_dim = derived_head_dim(c.hidden_size, c.num_attention_heads, file.path.string());
    c.vocab_size = file.vocab_size;
    c.max_position_embeddings = file.max_position_embeddings;
    c.rms_norm_eps = 1e-5;
    c.tie_word_embeddings = file.tie_word_embeddings;
    c.dtype = "float32";
    check_config(c, file.path.string());
    if (file.rope_sin.shape.rows() > 1 && c.head_dim > 2) {
        // Position 1, second pair: the sine of theta^(-2 / Dh), which tells any two thetas in use apart.
        std::vector<f32> sines(std::size_t(c.head_dim / 2));
        io::convert_rows(file.rope_sin, 1, 2, sines.data());
        const double expected = std::sin(std::pow(c.rope_parameters.rope_theta, -2.0 / c.head_dim));
        const double found = double(sines[1]);
        require<UnsupportedError>(!(found > 0 && found < 1) || std::abs(found - expected) < 1e-3 * expected,
                                  file.path.string(),
                                  ": the rotary tables of this checkpoint were made with a theta of about ",
                                  std::pow(std::asin(std::clamp(found, 0.0, 1.0)), -c.head_dim / 2.0),
                                  " (llama3.c writes such files); supported is llama2.c's 10000");
    }
    return c;
}

}  // namespace l3::inline v0
