#pragma once
// The pre-tokenizers that GGUF files know by name only ("tokenizer.ggml.pre"), as the original tokenizers have them.
#include "../../core/error.hpp"
#include "../pretokenize.hpp"
#include <string_view>

namespace l3::inline v0::tokenizer {

/// The pattern of Llama 3.
inline constexpr std::string_view llama3_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// The pattern of Qwen 2: digits one by one, otherwise as Llama 3.
inline constexpr std::string_view qwen2_pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// A pre-tokenizer, and what else its name implies.
struct NamedPreTokenizer {
    PreTokenizer steps;
    bool ignore_merges = false;  ///< pieces that are tokens are not merged
    bool add_bos = false;        ///< unless the file says otherwise
};

/// The pre-tokenizer of a name in "tokenizer.ggml.pre". Source of the names: llama_vocab::impl::load in
/// ggml-org/llama.cpp. Throws UnsupportedError quoting the name if it is not known.
[[nodiscard]] inline NamedPreTokenizer named_pre_tokenizer(std::string_view name, std::string_view file) {
    NamedPreTokenizer named;
    const auto split = [&](std::string_view pattern) { named.steps.add(Split{Pattern(pattern)}); };
    if (name == "llama-bpe" || name == "llama3" || name == "llama-v3") {
        split(llama3_pattern);
        named.ignore_merges = named.add_bos = true;
    } else if (name == "smollm") {
        split(R"(\p{N})");
        split(gpt2_pattern);
    } else if (name == "gpt-2") {
        split(gpt2_pattern);
    } else if (name == "qwen2") {
        split(qwen2_pattern);
    } else if (name == "default") {
        split(R"([\p{P}\$\+<=>\^~\|]+)");
        split(gpt2_pattern);
        split(R"(\p{N}+)");
        split("[0-9][0-9][0-9]");
    } else {
        fail<UnsupportedError>(file, ": the pre-tokenizer '", name, "' (metadata 'tokenizer.ggml.pre') is not known; known are "
                               "llama-bpe, llama3, llama-v3, smollm, gpt-2, qwen2 and default");
    }
    return named;
}

}  // namespace l3::inline v0::tokenizer
