#pragma once
#include "../device/cpu/memory.hpp"
#include "activations.hpp"
#include "kv_cache.hpp"
#include "model_tokenizer.hpp"

namespace l3::inline v0 {

/// The tensors of one element type in a model's files.
struct StoredBytes {
    std::string type;  // as the format calls it: "BF16", "Q4_1"
    int tensors = 0;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
};

/// What a model is, from the headers of its files.
struct ModelInfo {
    std::filesystem::path path;
    CheckpointFormat format = CheckpointFormat::hugging_face;
    LlamaConfig config;
    std::uint64_t parameters = 0;        // elements of all tensors
    std::uint64_t bytes = 0;             // of all tensors, as stored
    std::vector<StoredBytes> stored;     // by type, the most bytes first
    std::vector<std::pair<std::string, Shape>> tensors;  // in the order of the files
    bool has_tokenizer = false;
    std::string tokenizer_kind;          // "byte-level BPE", "SentencePiece BPE", or ""
    int tokenizer_vocab_size = 0;
    std::string chat_template;           // its text, or ""

    /// The bytes of the cache of keys and values for so many tokens.
    template <DType T>
    [[nodiscard]] std::uint64_t cache_bytes(Index context) const {
        return KVCache<T, CPU>::bytes_needed(config, context);
    }
    /// The bytes of what one call keeps between its operations, rotary tables included: for a chunk of so many tokens
    /// and the logits of the last.
    template <DType T>
    [[nodiscard]] std::uint64_t activation_bytes(Index tokens) const {
        return Activations<T, CPU>::bytes_needed(config, tokens, 1);
    }
};

/// Reads what a model is, without its weights. tokenizer: as in ModelOptions. Throws what opening the model would throw
/// for its headers, and what its tokenizer throws if there is one.
[[nodiscard]] inline ModelInfo read_model_info(const std::filesystem::path& path,
                                               const std::filesystem::path& tokenizer = {}) {
    Checkpoint checkpoint = open_checkpoint(path);
    ModelInfo info;
    info.path = path;
    info.format = checkpoint.format;
    info.bytes = checkpoint.tensors.nbytes();
    for (const io::StoredTensor& t : checkpoint.tensors) {
        const auto elements = std::uint64_t(t.shape.numel());
        auto entry = std::ranges::find(info.stored, io::storage_name(t.type), &StoredBytes::type);
        if (entry == info.stored.end())
            entry = info.stored.insert(entry, {std::string(io::storage_name(t.type)), 0, 0, 0});
        ++entry->tensors;
        entry->elements += elements;
        entry->bytes += t.data.size();
        info.parameters += elements;
        info.tensors.emplace_back(t.name, t.shape);
    }
    std::ranges::sort(info.stored, std::greater<>(), &StoredBytes::bytes);
    const ModelTokenizer found(checkpoint, tokenizer);
    if ((info.has_tokenizer = found.found())) {
        info.tokenizer_kind = found.get().kind();
        info.tokenizer_vocab_size = found.get().vocab_size();
        info.chat_template = found.get().chat_template();
    }
    info.config = std::move(checkpoint.config);
    return info;
}

}  // namespace l3::inline v0
