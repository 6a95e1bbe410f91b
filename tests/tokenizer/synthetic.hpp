#pragma once
// Small tokenizers for tests, as the files that carry them: tokenizer.json, GGUF, tokenizer.bin. Made here, of 256 byte
// tokens and a list of merges, so that every text can be encoded.
#include "support/paths.hpp"
#include "support/write_gguf.hpp"
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace synthetic {

using nlohmann::json;
using Merges = std::vector<std::pair<std::string, std::string>>;  // in bytes

/// Bytes as a vocabulary of the byte-level kind writes them.
inline std::string written(std::string_view bytes) {
    std::string out;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        unsigned point = byte;
        if (byte <= 0x20) point = 0x100u + byte;
        else if (byte >= 0x7F && byte <= 0xA0) point = 0x121u + (byte - 0x7Fu);
        else if (byte == 0xAD) point = 0x143;
        if (point < 0x80) {
            out += c;
        } else {
            out += static_cast<char>(0xC0 | point >> 6);
            out += static_cast<char>(0x80 | (point & 0x3F));
        }
    }
    return out;
}

/// Spaces as a vocabulary of the SentencePiece kind writes them.
inline std::string with_written_spaces(std::string_view text) {
    std::string out;
    for (const char c : text) c == ' ' ? out += "\xE2\x96\x81" : out += c;
    return out;
}

inline std::string byte_token(unsigned byte) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", byte & 255);
    return text;
}

inline json added_token(const char* text, int id, bool special = true) {
    return {{"id", id}, {"content", text}, {"special", special}, {"normalized", false}};
}

/// A tokenizer.json of the byte-level kind: ids 0 to 255 are the bytes, 256 and on what the merges make, then the added
/// tokens <bos> and <eos>. Nothing but GPT-2's pattern divides the text.
inline json byte_level(const Merges& merges) {
    json vocab, list = json::array();
    int id = 0;
    for (; id < 256; ++id) vocab[written(std::string(1, static_cast<char>(id)))] = id;
    for (const auto& [left, right] : merges) {
        vocab[written(left + right)] = id++;
        list.push_back(written(left) + " " + written(right));
    }
    return {{"version", "1.0"},
            {"added_tokens", {added_token("<bos>", id), added_token("<eos>", id + 1)}},
            {"normalizer", nullptr},
            {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
            {"post_processor", nullptr},
            {"decoder", {{"type", "ByteLevel"}}},
            {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", list}}}};
}

/// The tokens of the SentencePiece kind: <unk>, <s>, </s>, the bytes (ids 3 to 258), then pieces.
inline std::vector<std::string> sentencepiece_tokens(const std::vector<std::string>& pieces) {
    std::vector<std::string> tokens{"<unk>", "<s>", "</s>"};
    for (unsigned byte = 0; byte < 256; ++byte) tokens.push_back(byte_token(byte));
    tokens.insert(tokens.end(), pieces.begin(), pieces.end());
    return tokens;
}

/// A tokenizer.json of the SentencePiece kind as Llama 2 has it: characters first, then what the merges make.
inline json sentencepiece(const std::vector<std::string>& characters, const Merges& merges) {
    std::vector<std::string> pieces = characters;
    json vocab, list = json::array();
    for (const auto& [left, right] : merges) {
        pieces.push_back(left + right);
        list.push_back(with_written_spaces(left) + " " + with_written_spaces(right));
    }
    int id = 0;
    for (const std::string& token : sentencepiece_tokens(pieces)) vocab[with_written_spaces(token)] = id++;
    const json underline = "\xE2\x96\x81";
    return {{"added_tokens", {added_token("<unk>", 0), added_token("<s>", 1), added_token("</s>", 2)}},
            {"normalizer",
             {{"type", "Sequence"},
              {"normalizers",
               {{{"type", "Prepend"}, {"prepend", underline}},
                {{"type", "Replace"}, {"pattern", {{"String", " "}}}, {"content", underline}}}}}},
            {"pre_tokenizer", nullptr},
            {"post_processor",
             {{"type", "TemplateProcessing"},
              {"single", {{{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}}, {{"Sequence", {{"id", "A"}, {"type_id", 0}}}}}},
              {"special_tokens", {{"<s>", {{"id", "<s>"}, {"ids", {1}}, {"tokens", {"<s>"}}}}}}}},
            {"decoder",
             {{"type", "Sequence"},
              {"decoders",
               {{{"type", "Replace"}, {"pattern", {{"String", underline}}}, {"content", " "}},
                {{"type", "ByteFallback"}},
                {{"type", "Fuse"}},
                {{"type", "Strip"}, {"content", " "}, {"start", 1}, {"stop", 0}}}}}},
            {"model",
             {{"type", "BPE"}, {"unk_token", "<unk>"}, {"fuse_unk", true}, {"byte_fallback", true}, {"vocab", vocab},
              {"merges", list}}}};
}

/// The metadata of a GGUF file with a tokenizer of the byte-level kind; ids as in byte_level().
inline std::vector<support::GgufMetadata> gguf_byte_level(const Merges& merges, const std::string& pre = "llama-bpe") {
    std::vector<std::string> tokens, list;
    for (int byte = 0; byte < 256; ++byte) tokens.push_back(written(std::string(1, static_cast<char>(byte))));
    for (const auto& [left, right] : merges) {
        tokens.push_back(written(left + right));
        list.push_back(written(left) + " " + written(right));
    }
    std::vector<std::int32_t> types(tokens.size(), 1);
    for (const char* text : {"<bos>", "<eos>"}) tokens.push_back(text), types.push_back(3);
    const auto bos = static_cast<std::uint32_t>(tokens.size() - 2);
    return {{"tokenizer.ggml.model", std::string("gpt2")}, {"tokenizer.ggml.pre", pre},
            {"tokenizer.ggml.tokens", tokens},             {"tokenizer.ggml.token_type", types},
            {"tokenizer.ggml.merges", list},               {"tokenizer.ggml.bos_token_id", bos},
            {"tokenizer.ggml.eos_token_id", bos + 1}};
}

/// The metadata of a GGUF file with a tokenizer of the SentencePiece kind: the earlier a piece, the higher its score.
inline std::vector<support::GgufMetadata> gguf_sentencepiece(const std::vector<std::string>& pieces) {
    std::vector<std::string> tokens;
    std::vector<std::int32_t> types;
    std::vector<float> scores;
    for (const std::string& token : sentencepiece_tokens(pieces)) {
        const std::size_t id = tokens.size();
        tokens.push_back(with_written_spaces(token));
        types.push_back(id == 0 ? 2 : id < 3 ? 3 : id < 259 ? 6 : 1);
        scores.push_back(id < 259 ? 0.0f : -static_cast<float>(id));
    }
    return {{"tokenizer.ggml.model", std::string("llama")},       {"tokenizer.ggml.tokens", tokens},
            {"tokenizer.ggml.token_type", types},                 {"tokenizer.ggml.scores", scores},
            {"tokenizer.ggml.bos_token_id", std::uint32_t(1)},    {"tokenizer.ggml.eos_token_id", std::uint32_t(2)},
            {"tokenizer.ggml.unknown_token_id", std::uint32_t(0)}};
}

/// The bytes of a tokenizer.bin of llama2.c with the same ids and scores.
inline std::string llama2c_bin(const std::vector<std::string>& pieces) {
    support::GgufBytes out;
    out.number(std::uint32_t(16));
    float score = 0;
    for (const std::string& token : sentencepiece_tokens(pieces)) {
        out.number(score < -258 ? score : 0.0f).number(std::int32_t(token.size()));
        out.bytes += token;
        score -= 1;
    }
    return out.bytes;
}

/// A folder with a tokenizer.json.
class Folder {
  public:
    explicit Folder(const json& tokenizer, const json& config = {}) {
        write("tokenizer.json", tokenizer.dump());
        if (!config.is_null()) write("tokenizer_config.json", config.dump());
    }
    void write(const std::string& name, std::string_view bytes) const { support::write_file(folder_ / name, bytes); }
    [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }
    [[nodiscard]] std::filesystem::path file() const { return folder_ / "tokenizer.json"; }

  private:
    support::TemporaryFolder folder_;
};

}  // namespace synthetic
