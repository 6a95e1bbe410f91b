#pragma once
#include <algorithm>
#include <iterator>
#include <string_view>

// Which keys of config.json l3 may pass over. A key is understood (from_json.hpp reads it), or changes nothing about
// the logits whatever its value (bookkeeping), or changes nothing with one value (neutral); anything else is refused.
namespace l3::inline v0::llama_config {

// clang-format off: lists to be read, not columns
/// Read by from_json.hpp.
inline constexpr std::string_view understood_keys[] = {
    "architectures", "attention_bias", "bos_token_id", "dtype", "eos_token_id", "head_dim", "hidden_act", "hidden_size",
    "intermediate_size", "layer_types", "max_position_embeddings", "mlp_bias", "model_type", "num_attention_heads",
    "num_hidden_layers", "num_key_value_heads", "rms_norm_eps", "rope_parameters", "rope_scaling", "rope_theta",
    "sliding_window", "tie_word_embeddings", "torch_dtype", "vocab_size",
};

/// About files, training, or how other programs run the model; and what older releases of transformers wrote into every
/// config (defaults of generation among them).
inline constexpr std::string_view bookkeeping_keys[] = {
    // where it comes from
    "_commit_hash", "_name_or_path", "auto_map", "custom_pipelines", "is_llama_config", "name_or_path",
    "tokenizer_class", "transformers.js_config", "transformers_version", "unsloth_fixed", "unsloth_version",
    // training
    "attention_dropout", "attention_probs_dropout_prob", "classifier_dropout", "embd_pdrop", "finetuning_task",
    "gradient_checkpointing", "hidden_dropout", "hidden_dropout_prob", "initializer_range", "neftune_noise_alpha",
    "problem_type", "resid_pdrop",
    // how it is run
    "_attn_implementation", "_attn_implementation_autoset", "_flash_attn_2_enabled", "attn_implementation",
    "chunk_size_feed_forward", "output_attentions", "output_hidden_states", "output_scores", "pretraining_tp",
    "return_dict", "return_dict_in_generate", "tf_legacy_loss", "torchscript", "use_bfloat16", "use_cache",
    "use_flash_attention",
    // lengths that bound nothing here
    "max_sequence_length", "model_max_length",
    // ids and labels
    "begin_suppress_tokens", "cls_token_id", "decoder_start_token_id", "forced_bos_token_id", "forced_eos_token_id",
    "id2label", "label2id", "mask_token_id", "num_labels", "pad_token_id", "prefix", "sep_token_id", "suppress_tokens",
    "task_specific_params", "unk_token_id",
    // generation
    "bad_words_ids", "diversity_penalty", "do_sample", "early_stopping", "encoder_no_repeat_ngram_size",
    "exponential_decay_length_penalty", "length_penalty", "max_length", "max_new_tokens", "min_length",
    "no_repeat_ngram_size", "num_beam_groups", "num_beams", "num_return_sequences", "remove_invalid_values",
    "repetition_penalty", "temperature", "top_k", "top_p", "typical_p",
};
// clang-format on

struct NeutralKey {
    std::string_view key, value;  // JSON
};

/// Switches of other families and of quantised files, in the position that means a plain Llama.
inline constexpr NeutralKey neutral_keys[] = {
    {"add_cross_attention", "false"}, {"is_decoder", "false"},
    {"is_encoder_decoder", "false"},  {"partial_rotary_factor", "1"},
    {"pruned_heads", "{}"},           {"rope_interleaved", "false"},
    {"tie_encoder_decoder", "false"}, {"use_bidirectional_attention", "false"},
    {"use_qk_norm", "false"},         {"use_sliding_window", "false"},
};

inline bool is_understood(std::string_view key) {
    return std::ranges::find(understood_keys, key) != std::end(understood_keys);
}
inline bool is_bookkeeping(std::string_view key) {
    return std::ranges::find(bookkeeping_keys, key) != std::end(bookkeeping_keys);
}
/// The value with which this key changes nothing, as JSON; empty if there is none.
inline std::string_view neutral_value(std::string_view key) {
    const auto* found = std::ranges::find(neutral_keys, key, &NeutralKey::key);
    return found == std::end(neutral_keys) ? std::string_view() : found->value;
}

}  // namespace l3::inline v0::llama_config
