#pragma once
#include "../../io/json.hpp"
#include "../llama_config.hpp"
#include "known_keys.hpp"

namespace l3::inline v0 {

namespace llama_config {

/// Throws UnsupportedError, naming file, key and value, for every key that is not known to change nothing.
inline void refuse_unknown_keys(const io::JsonObject& config) {
    for (const auto& [key, value] : config.json().items()) {
        if (value.is_null() || is_understood(key) || is_bookkeeping(key)) continue;
        const std::string_view neutral = neutral_value(key);
        if (neutral.empty())
            config.fail_type<UnsupportedError>(key, value,
                                               "no such key: l3 does not know what it changes in the model");
        if (value != nlohmann::json::parse(neutral))
            config.fail_type<UnsupportedError>(key, value, message(neutral, ", the only value that is supported"));
    }
}

/// Throws UnsupportedError unless model_type and architectures name a family that this is.
inline void check_family(const io::JsonObject& config, const std::string& model_type) {
    require<UnsupportedError>(model_type == "llama" || model_type == "mistral", config.name(), ": model_type '",
                              model_type, "' is not supported; supported are llama and mistral");
    for (const std::string& name : config.get_or<std::vector<std::string>>("architectures", {})) {
        const bool known = name == "LlamaForCausalLM" || name == "LLaMAForCausalLM" || name == "MistralForCausalLM";
        require<UnsupportedError>(known, config.name(), ": architecture '", name,
                                  "' is not supported; supported are LlamaForCausalLM and MistralForCausalLM");
    }
}

/// The rotary embedding in any spelling: rope_theta and rope_scaling (with `type` or `rope_type`) of older releases, or
/// rope_parameters, which holds both.
inline RopeParameters rope_from_json(const io::JsonObject& config) {
    RopeParameters rope;
    rope.rope_theta = config.get_or("rope_theta", rope.rope_theta);
    const std::optional<io::JsonObject> old = config.find_object("rope_scaling");
    const std::optional<io::JsonObject> found = old ? old : config.find_object("rope_parameters");
    if (!found) return rope;
    if (old && config.contains("rope_parameters"))
        fail<UnsupportedError>(config.name(), ": has both 'rope_scaling' and 'rope_parameters'");

    const io::JsonObject& given = *found;
    rope.rope_theta = given.get_or("rope_theta", rope.rope_theta);
    const std::string type = given.get_or("rope_type", given.get_or<std::string>("type", "default"));
    if (type == "linear") rope.rope_type = RopeType::linear;
    else if (type == "llama3") rope.rope_type = RopeType::llama3;
    else if (type != "default")
        fail<UnsupportedError>(config.name(), ": rope type '", type,
                               "' is not supported; supported are default, linear and llama3");
    for (const auto& [key, value] : given.json().items()) {
        constexpr std::string_view known[] = {"factor", "high_freq_factor", "low_freq_factor",
                                              "original_max_position_embeddings", "rope_theta", "rope_type", "type"};
        constexpr std::string_view known_as_one[] = {"attention_factor", "partial_rotary_factor"};
        if (value.is_null() || std::ranges::find(known, key) != std::end(known)) continue;
        if (value == 1 && std::ranges::find(known_as_one, key) != std::end(known_as_one)) continue;
        given.fail_type<UnsupportedError>(key, value, "no such key: l3 does not know what it changes in the model");
    }
    if (rope.rope_type != RopeType::unscaled) rope.factor = given.get<double>("factor");
    if (rope.rope_type == RopeType::llama3) {
        rope.low_freq_factor = given.get<double>("low_freq_factor");
        rope.high_freq_factor = given.get<double>("high_freq_factor");
        rope.original_max_position_embeddings = given.get<double>("original_max_position_embeddings");
    }
    return rope;
}

/// Throws UnsupportedError if attention looks back less far than the model's positions reach.
inline void check_window(const io::JsonObject& config, const LlamaConfig& c) {
    // Of Mistral, transformers takes a missing key for the window of the first release.
    const bool missing = c.model_type == "mistral" && !config.json().contains("sliding_window");
    const std::optional<int> window = missing ? 4096 : config.find<int>("sliding_window");
    require<UnsupportedError>(!window || *window >= c.max_position_embeddings, config.name(), ": sliding_window is ",
                              window.value_or(0), missing ? " (the default of mistral)" : "",
                              ", less than max_position_embeddings ", c.max_position_embeddings,
                              "; attention windows are not supported");
    for (const std::string& type : config.get_or<std::vector<std::string>>("layer_types", {}))
        require<UnsupportedError>(type == "full_attention", config.name(), ": layer_types has '", type,
                                  "'; only full_attention is supported");
}

/// The ids of a key that holds one id, several, or null. Ids below zero mean none.
inline std::vector<Token> ids_from_json(const io::JsonObject& object, std::string_view key) {
    const auto found = object.json().find(std::string(key));
    std::vector<Token> ids;
    if (found != object.json().end() && found->is_array()) ids = *object.find<std::vector<Token>>(key);
    else if (const std::optional<Token> one = object.find<Token>(key)) ids = {*one};
    std::erase_if(ids, [](Token id) { return id < 0; });
    return ids;
}

}  // namespace llama_config

/// A config.json of Hugging Face. Throws FormatError and UnsupportedError naming file, key, found and expected: what
/// would change the model and is not understood is refused. The sizes of the model must be given; other keys that are
/// missing have the defaults of transformers (configuration_llama.py, configuration_mistral.py).
inline LlamaConfig config_from_json(const io::JsonObject& config) {
    LlamaConfig c;
    c.model_type = config.get<std::string>("model_type");
    llama_config::check_family(config, c.model_type);
    llama_config::refuse_unknown_keys(config);
    if (const auto act = config.find<std::string>("hidden_act"); act && *act != "silu")
        fail<UnsupportedError>(config.name(), ": hidden_act '", *act, "' is not supported; supported is silu");

    const bool mistral = c.model_type == "mistral";
    c.hidden_size = config.get<int>("hidden_size");
    c.intermediate_size = config.get<int>("intermediate_size");
    c.num_hidden_layers = config.get<int>("num_hidden_layers");
    c.num_attention_heads = config.get<int>("num_attention_heads");
    const bool default_heads = mistral && !config.json().contains("num_key_value_heads");
    c.num_key_value_heads = config.get_or("num_key_value_heads", default_heads ? 8 : c.num_attention_heads);
    c.vocab_size = config.get<int>("vocab_size");
    c.head_dim = config.contains("head_dim") ? config.get<int>("head_dim")
                                             : derived_head_dim(c.hidden_size, c.num_attention_heads, config.name());
    c.max_position_embeddings = config.get_or("max_position_embeddings", mistral ? 131072 : 2048);
    c.rms_norm_eps = config.get_or("rms_norm_eps", c.rms_norm_eps);
    c.rope_parameters = llama_config::rope_from_json(config);
    c.attention_bias = config.get_or("attention_bias", false);
    c.mlp_bias = config.get_or("mlp_bias", false);
    c.tie_word_embeddings = config.find<bool>("tie_word_embeddings");
    if (const std::vector<Token> bos = llama_config::ids_from_json(config, "bos_token_id"); !bos.empty())
        c.bos_token_id = bos.front();
    c.eos_token_id = llama_config::ids_from_json(config, "eos_token_id");
    c.dtype = config.get_or("dtype", config.get_or<std::string>("torch_dtype", ""));
    check_config(c, config.name());
    llama_config::check_window(config, c);
    return c;
}

}  // namespace l3::inline v0
