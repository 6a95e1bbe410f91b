#pragma once
#include "../core/error.hpp"
#include "../core/math.hpp"
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace l3::inline v0 {

/// How the rotary frequencies are changed for long contexts: not at all ("default"), "linear" or "llama3".
enum class RopeType { unscaled, linear, llama3 };

/// The rotary embedding, fields as in config.json's rope_parameters.
struct RopeParameters {
    double rope_theta = 10000;
    RopeType rope_type = RopeType::unscaled;
    double factor = 1;                            // linear, llama3
    double low_freq_factor = 1;                   // llama3
    double high_freq_factor = 4;                  // llama3
    double original_max_position_embeddings = 0;  // llama3
    std::vector<double> divisors{};               // [Dh/2], GGUF's rope_freqs.weight; otherwise empty
};

/// What a model of the Llama family is, fields as in config.json. Missing keys have the defaults of transformers.
/// Readers: llama_config/from_json.hpp, from_gguf.hpp, from_llama2c.hpp.
struct LlamaConfig {
    std::string model_type = "llama";
    int hidden_size = 0;           // H
    int intermediate_size = 0;     // F
    int num_hidden_layers = 0;
    int num_attention_heads = 0;   // Nq
    int num_key_value_heads = 0;   // Nkv
    int head_dim = 0;              // Dh, independent of H / Nq
    int vocab_size = 0;            // V
    int max_position_embeddings = 2048;
    double rms_norm_eps = 1e-6;
    RopeParameters rope_parameters;
    bool attention_bias = false;   // q, k, v and o
    bool mlp_bias = false;         // gate, up and down
    std::optional<bool> tie_word_embeddings;  // absent: tied if the file has no lm_head
    std::optional<Token> bos_token_id;
    std::vector<Token> eos_token_id;
    std::string dtype;             // what the file says of itself; tensors say it better
};

/// Throws FormatError, naming the place and the field, for sizes that no model has. Afterwards: all sizes are positive,
/// Nq is a multiple of Nkv, Dh is even, Nq * Dh fits 32 bits, so that no matrix has more than 2^62 elements.
inline void check_config(const LlamaConfig& c, std::string_view where) {
    const auto positive = [&](const char* field, int value) {
        require<FormatError>(value > 0, where, ": ", field, " is ", value, ", expected a positive number");
    };
    positive("hidden_size", c.hidden_size);
    positive("intermediate_size", c.intermediate_size);
    positive("num_hidden_layers", c.num_hidden_layers);
    positive("num_attention_heads", c.num_attention_heads);
    positive("num_key_value_heads", c.num_key_value_heads);
    positive("head_dim", c.head_dim);
    positive("vocab_size", c.vocab_size);
    positive("max_position_embeddings", c.max_position_embeddings);
    require<FormatError>(c.num_attention_heads % c.num_key_value_heads == 0, where, ": num_attention_heads ",
                         c.num_attention_heads, " is not a multiple of num_key_value_heads ", c.num_key_value_heads);
    require<FormatError>(c.head_dim % 2 == 0, where, ": head_dim ", c.head_dim,
                         " is odd; the rotary embedding turns pairs of dimensions");
    require<FormatError>(Index{c.num_attention_heads} * c.head_dim <= 0x7FFFFFFF, where, ": num_attention_heads ",
                         c.num_attention_heads, " times head_dim ", c.head_dim, " is more than any model has");
    const auto in_f32 = [](double value) {  // as it is computed with: positive, and no denormal
        return value >= double{std::numeric_limits<float>::min()} && value <= double{std::numeric_limits<float>::max()};
    };
    require<FormatError>(in_f32(c.rms_norm_eps) && c.rms_norm_eps < 1, where, ": rms_norm_eps is ", c.rms_norm_eps,
                         ", expected a small positive number");

    const RopeParameters& rope = c.rope_parameters;
    const auto positive_real = [&](const char* field, double value) {
        require<FormatError>(in_f32(value), where, ": ", field, " is ", value, ", expected a positive number",
                             value > 0 ? " that f32 holds" : "");
    };
    require<FormatError>(in_f32(rope.rope_theta) && rope.rope_theta >= 1, where, ": rope_theta is ", rope.rope_theta,
                         ", expected a number of at least 1 that f32 holds");
    positive_real("the rope scaling's factor", rope.factor);
    if (rope.rope_type == RopeType::llama3) {
        positive_real("the rope scaling's low_freq_factor", rope.low_freq_factor);
        positive_real("the rope scaling's original_max_position_embeddings", rope.original_max_position_embeddings);
        require<FormatError>(std::isfinite(rope.high_freq_factor) && rope.high_freq_factor > rope.low_freq_factor,
                             where, ": the rope scaling's high_freq_factor is ", rope.high_freq_factor,
                             ", expected more than its low_freq_factor ", rope.low_freq_factor);
    }
    require<FormatError>(rope.divisors.empty() || Index(rope.divisors.size()) * 2 == c.head_dim, where, ": ",
                         rope.divisors.size(), " rope divisors, expected head_dim / 2 = ", c.head_dim / 2);
    for (double divisor : rope.divisors) positive_real("a rope divisor", divisor);
}

/// H / Nq, for files that do not give head_dim. Throws FormatError if it is not whole and positive.
inline int derived_head_dim(int hidden_size, int num_attention_heads, std::string_view where) {
    require<FormatError>(hidden_size > 0, where, ": hidden_size is ", hidden_size, ", expected a positive number");
    require<FormatError>(num_attention_heads > 0 && hidden_size % num_attention_heads == 0, where,
                         ": head_dim is not given, and hidden_size ", hidden_size,
                         " is not a multiple of num_attention_heads ", num_attention_heads);
    return hidden_size / num_attention_heads;
}

}  // namespace l3::inline v0
