#pragma once
// The tokenizer inside of a GGUF file: its metadata "tokenizer.*".
#include "../../io/gguf.hpp"
#include "../byte_alphabet.hpp"
#include "../pretokenize/named.hpp"
#include "pipeline.hpp"
#include "tables.hpp"
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

namespace detail {

/// The kinds of tokens by their numbers in "tokenizer.ggml.token_type".
inline TokenKind gguf_token_kind(std::string_view file, std::size_t id, int type) {
    switch (type) {
        case 1: return TokenKind::normal;
        case 2:  // unknown
        case 3: return TokenKind::special;
        case 4: return TokenKind::added;
        case 5: return TokenKind::unused;
        case 6: return TokenKind::byte;
        default:
            fail<FormatError>(file, ": token ", id, " is of type ", type, " ('tokenizer.ggml.token_type'), expected 1 to 6");
    }
}

/// Byte-level BPE ("gpt2"): tokens in the byte alphabet, and merges.
inline void read_gguf_byte_level(Pipeline& p, const io::GgufMetadata& metadata, const std::vector<std::string_view>& texts) {
    p.kind = "byte-level BPE";
    NamedPreTokenizer named = named_pre_tokenizer(metadata.get<std::string>("tokenizer.ggml.pre"), p.name);
    p.pre_tokenizer = std::move(named.steps);
    p.add_bos = named.add_bos;
    if (metadata.get_or("tokenizer.ggml.add_space_prefix", false))
        fail<UnsupportedError>(p.name, ": 'tokenizer.ggml.add_space_prefix' is true, which is not known for byte-level BPE");
    const auto merges = metadata.get<std::vector<std::string_view>>("tokenizer.ggml.merges");
    const WrittenTokens written(texts);
    MergeReader reader(p.name, written, merges.size());
    for (const std::string_view merge : merges) reader.add(merge);
    ByteLevelBpe model;
    model.merges = std::move(reader).take(p.vocabulary.size());
    model.ignore_merges = named.ignore_merges;
    model.set_bytes(p.vocabulary);
    p.model = std::move(model);
}

/// SentencePiece BPE ("llama"): tokens with scores.
inline void read_gguf_sentencepiece(Pipeline& p, const io::GgufMetadata& metadata, std::size_t tokens) {
    p.kind = "SentencePiece BPE";
    const auto scores = metadata.get<std::vector<float>>("tokenizer.ggml.scores");
    require<FormatError>(scores.size() == tokens, p.name, ": ", scores.size(), " scores ('tokenizer.ggml.scores') for ",
                         tokens, " tokens");
    p.add_bos = true;
    set_scores(p, scores);
    if (metadata.get_or("tokenizer.ggml.add_space_prefix", true)) p.normalizer.push_back({"", " "});
    p.strip_prefix = !p.normalizer.empty();
    p.normalizer.push_back({std::string(written_space), " "});
}

}  // namespace detail

/// Reads the tokenizer of a GGUF file. Throws FormatError and UnsupportedError naming file and key.
[[nodiscard]] inline std::shared_ptr<const Pipeline> read_gguf(const io::Gguf& gguf) {
    const io::GgufMetadata& metadata = gguf.metadata;
    const auto pipeline = std::make_shared<Pipeline>();
    Pipeline& p = *pipeline;
    p.name = gguf.path.string();
    const auto model = metadata.get<std::string>("tokenizer.ggml.model");
    const bool byte_level = model == "gpt2";
    require<UnsupportedError>(byte_level || model == "llama", p.name, ": the tokenizer model '", model,
                              "' (metadata 'tokenizer.ggml.model') is not known; known are gpt2 and llama");
    const auto texts = metadata.get<std::vector<std::string_view>>("tokenizer.ggml.tokens");
    const auto types = metadata.get<std::vector<int>>("tokenizer.ggml.token_type");
    require<FormatError>(types.size() == texts.size(), p.name, ": ", types.size(),
                         " types ('tokenizer.ggml.token_type') for ", texts.size(), " tokens");
    std::vector<AddedToken> added;
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto id = static_cast<Token>(i);
        const TokenKind kind = detail::gguf_token_kind(p.name, i, types[i]);
        std::string bytes(texts[i]);
        bool mergeable = kind == TokenKind::normal;
        if (kind == TokenKind::byte) {
            const int byte = byte_of_token(texts[i]);
            require<FormatError>(byte >= 0, p.name, ": token ", i, " is \"", texts[i], "\", expected a byte like \"<0x0A>\"");
            bytes.assign(1, static_cast<char>(static_cast<unsigned char>(byte)));
        } else if (mergeable && byte_level) {
            std::optional<std::string> read = bytes_of(texts[i]);
            mergeable = read.has_value();
            if (mergeable) bytes = *std::move(read);
        } else if (mergeable) {
            bytes = replace_all(bytes, written_space, " ");
        }
        p.vocabulary.add(id, std::move(bytes), kind, mergeable);
        if ((kind == TokenKind::special || kind == TokenKind::added) && !texts[i].empty())
            added.push_back({std::string(texts[i]), id, kind == TokenKind::special});
    }
    p.added = AddedTokens(std::move(added), p.name);
    byte_level ? detail::read_gguf_byte_level(p, metadata, texts)
               : detail::read_gguf_sentencepiece(p, metadata, texts.size());

    const auto token = [&](std::string_view key) {
        const auto id = metadata.find<int>(key);
        if (id) p.require_token(*id, key);
        return id;
    };
    p.bos = token("tokenizer.ggml.bos_token_id");
    p.add_bos = metadata.get_or("tokenizer.ggml.add_bos_token", p.add_bos) && p.bos;
    p.bos_begins_text = true;
    p.prefix_everywhere = false;
    for (const std::string_view key : {"tokenizer.ggml.eos_token_id", "tokenizer.ggml.eot_token_id", "tokenizer.ggml.eom_token_id"})
        if (const auto id = token(key)) p.add_end(*id);
    if (const auto unknown = token("tokenizer.ggml.unknown_token_id"))
        std::visit([&](auto& m) { m.unknown = *unknown; }, p.model);
    p.chat_template = metadata.get_or<std::string>("tokenizer.chat_template", "");
    return pipeline;
}

}  // namespace l3::inline v0::tokenizer
