#pragma once
// A tiny random model with a tokenizer and a chat template, as a Hugging Face directory.
#include "../support/chat_templates.hpp"
#include "../support/fake_model.hpp"
#include "../support/tiny_model.hpp"
#include "process.hpp"
#include <sstream>

namespace support {

class ChatModel {
  public:
    explicit ChatModel(int max_position_embeddings = 2048) {
        tokenizer_.chat_template = chatml_template;
        tokenizer_.bos = "<|begin|>";
        tokenizer_.eos = "<|im_end|>";
        tokenizer_.write(folder_.path());
        model_.name = "chat";
        model_.config.vocab_size = vocab_size();
        model_.config.max_position_embeddings = max_position_embeddings;
        model_.write_directory(folder_.path());
    }

    [[nodiscard]] std::string path() const { return folder_.path().string(); }
    [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_ / name; }
    [[nodiscard]] const TinyModel& model() const { return model_; }
    [[nodiscard]] int vocab_size() const { return 256 + int(tokenizer_.pieces.size() + tokenizer_.special.size()); }
    [[nodiscard]] Token id_of(const std::string& special) const {
        const auto& list = tokenizer_.special;
        const auto at = std::find(list.begin(), list.end(), special) - list.begin();
        return Token(256 + std::ptrdiff_t(tokenizer_.pieces.size()) + at);
    }

  private:
    TemporaryFolder folder_;
    FakeTokenizer tokenizer_;
    TinyModel model_;
};

/// The names of the files in a folder, sorted.
inline std::vector<std::string> names_in(const std::filesystem::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    std::sort(names.begin(), names.end());
    return names;
}

/// The JSON values of lines of text.
inline std::vector<nlohmann::json> json_lines(const std::string& text) {
    std::vector<nlohmann::json> rows;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) rows.push_back(nlohmann::json::parse(line));
    return rows;
}

/// The numbers that programs give of a run; empty if one is missing or they do not add up.
inline bool good_statistics(const nlohmann::json& s) {
    for (const char* key : {"prompt_tokens", "reused_tokens", "evaluated_tokens", "generated_tokens", "finish_reason", "seed",
                            "load_ms", "prefill_ms", "decode_ms", "prefill_tok_per_s", "decode_tok_per_s"})
        if (!s.contains(key)) return false;
    return s["reused_tokens"].get<int>() + s["evaluated_tokens"].get<int>() == s["prompt_tokens"].get<int>();
}

/// Token ids as the programs read and print them.
inline std::string words(const std::vector<Token>& ids) {
    std::string text;
    for (Token id : ids) text += (text.empty() ? "" : " ") + std::to_string(id);
    return text;
}

}  // namespace support
