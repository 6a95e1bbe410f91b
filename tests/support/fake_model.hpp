#pragma once
// A model whose logits a test writes itself, with the interface of l3::Model: for sessions, generation and chats.
#include "l3/core/error.hpp"
#include "l3/core/math.hpp"
#include "l3/dtype/bf16.hpp"
#include "l3/tokenizer/tokenizer.hpp"
#include "paths.hpp"
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

namespace support {

using l3::Index;
using l3::Token;

/// A byte-level tokenizer: ids 0 to 255 are the bytes, then come these pieces (of which "ab" is merged from a and b and
/// the others are never made by encoding), then special tokens.
struct FakeTokenizer {
    std::vector<std::string> pieces = {"ab", "AB", "CD", "EF", "x", "\nUs", "er:", "Hello", " world"};
    std::vector<std::string> special = {"<|begin|>",
                                        "<|end|>",
                                        "<|im_start|>",
                                        "<|im_end|>",
                                        "<|begin_of_text|>",
                                        "<|start_header_id|>",
                                        "<|end_header_id|>",
                                        "<|eot_id|>",
                                        "<|eom_id|>",
                                        "<|reserved|>",
                                        "<s>",
                                        "</s>"};
    std::string bos = "<|begin|>", eos = "<|end|>", chat_template;
    bool add_bos = true;

    /// Writes tokenizer.json and tokenizer_config.json.
    void write(const std::filesystem::path& folder) const {
        std::vector<std::string> letters(256);
        for (int b = 0, next = 256; b < 256; ++b) {
            const bool visible = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || (b >= 0xAE && b <= 0xFF);
            const int c = visible ? b : next++;
            letters[std::size_t(b)] =
                c < 0x80 ? std::string(1, char(c)) : std::string{char(0xC0 | c >> 6), char(0x80 | (c & 0x3F))};
        }
        nlohmann::json vocabulary, added = nlohmann::json::array();
        int id = 0;
        for (const std::string& letter : letters) vocabulary[letter] = id++;
        for (const std::string& piece : pieces) {
            if (piece.size() == 1) {
                ++id;
                continue;
            }  // a byte: it has its id
            std::string written;
            for (char c : piece) written += letters[static_cast<unsigned char>(c)];
            vocabulary[written] = id++;
        }
        for (const std::string& text : special)
            added.push_back({{"id", id++},
                             {"content", text},
                             {"special", true},
                             {"single_word", false},
                             {"lstrip", false},
                             {"rstrip", false},
                             {"normalized", false}});
        const nlohmann::json byte_level = {
            {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
        const nlohmann::json tokenizer = {{"version", "1.0"},
                                          {"truncation", nullptr},
                                          {"padding", nullptr},
                                          {"added_tokens", added},
                                          {"normalizer", nullptr},
                                          {"pre_tokenizer", byte_level},
                                          {"post_processor", nullptr},
                                          {"decoder", byte_level},
                                          {"model", {{"type", "BPE"}, {"vocab", vocabulary}, {"merges", {"a b"}}}}};
        nlohmann::json config = {{"add_bos_token", add_bos}};
        if (!bos.empty()) config["bos_token"] = bos;
        if (!eos.empty()) config["eos_token"] = eos;
        if (!chat_template.empty()) config["chat_template"] = chat_template;
        write_file(folder / "tokenizer.json", tokenizer.dump());
        write_file(folder / "tokenizer_config.json", config.dump());
    }
    [[nodiscard]] l3::Tokenizer make() const {
        const TemporaryFolder folder;
        write(folder.path());
        return l3::Tokenizer::load(folder.path());
    }
};

class FakeModel {
  public:
    struct Config {
        int vocab_size = 300, max_position_embeddings = 512;
    };
    struct GenerationConfig {
        bool do_sample = false;
        std::optional<float> temperature{}, top_p{}, min_p{}, repetition_penalty{};
        std::optional<int> top_k{};
    };
    /// What all handles share. The logits of the token at the end of these ids; by default noise of all of them.
    struct State {
        Config config;
        GenerationConfig generation_config;
        std::optional<l3::Tokenizer> tokenizer;
        std::vector<Token> end_ids;
        std::function<void(std::span<const Token> ids, std::span<l3::f32> logits)> logits;
        std::function<void(std::span<const Token> tokens)> on_evaluate;  // before each evaluation; may throw
        std::vector<Index> evaluations{};                                // the sizes of all so far
    };

    FakeModel() : state_(std::make_shared<State>()) {
        state_->logits = [](std::span<const Token> ids, std::span<l3::f32> logits) {
            std::uint64_t h = 1469598103934665603u;
            for (Token id : ids) h = (h ^ std::uint64_t(id)) * 1099511628211u;
            for (l3::f32& x : logits) {
                h = h * 6364136223846793005u + 1442695040888963407u;
                x = l3::f32(h >> 40) / l3::f32(1 << 22);
            }
        };
    }

    class Sequence {
      public:
        Sequence(std::shared_ptr<State> state, Index capacity) : state_(std::move(state)), capacity_(capacity) {}
        [[nodiscard]] Index size() const { return Index(ids_.size()); }
        [[nodiscard]] Index capacity() const { return capacity_; }
        void evaluate(std::span<const Token> tokens, std::span<const int> rows, const std::stop_token& stop = {}) {
            l3::require<l3::ContextFullError>(size() + Index(tokens.size()) <= capacity_,
                                              "the fake model's context is full");
            logits_.clear();
            if (state_->on_evaluate) state_->on_evaluate(tokens);
            l3::require<l3::CancelledError>(!stop.stop_requested(), "cancelled");
            state_->evaluations.push_back(Index(tokens.size()));
            const std::size_t before = ids_.size();
            ids_.insert(ids_.end(), tokens.begin(), tokens.end());
            for (int row : rows) {
                logits_.emplace_back(std::size_t(state_->config.vocab_size));
                state_->logits(std::span(ids_).first(before + std::size_t(row) + 1), logits_.back());
            }
        }
        [[nodiscard]] std::span<const l3::f32> logits(int i) const { return logits_.at(std::size_t(i)); }
        void truncate(Index n) {
            l3::require<l3::ArgumentError>(0 <= n && n <= size(), "truncate to ", n, " tokens: there are ", size());
            ids_.resize(std::size_t(n));
        }
        [[nodiscard]] Sequence clone() const { return *this; }

      private:
        std::shared_ptr<State> state_;
        Index capacity_;
        std::vector<Token> ids_;
        std::vector<std::vector<l3::f32>> logits_;
    };

    [[nodiscard]] Sequence new_sequence(Index context) const { return {state_, context}; }
    [[nodiscard]] const Config& config() const { return state_->config; }
    [[nodiscard]] const GenerationConfig& generation_config() const { return state_->generation_config; }
    [[nodiscard]] bool has_tokenizer() const { return state_->tokenizer.has_value(); }
    [[nodiscard]] const l3::Tokenizer& tokenizer() const {
        l3::require<l3::IoError>(has_tokenizer(), "the fake model has no tokenizer");
        return *state_->tokenizer;
    }
    [[nodiscard]] std::span<const Token> end_ids() const { return state_->end_ids; }

    [[nodiscard]] State& state() const { return *state_; }
    void use(const FakeTokenizer& tokenizer) const {
        state_->tokenizer = tokenizer.make();
        state_->config.vocab_size = state_->tokenizer->vocab_size();
        state_->end_ids.assign(state_->tokenizer->end_ids().begin(), state_->tokenizer->end_ids().end());
    }
    /// The id of a token by its text.
    [[nodiscard]] Token id(std::string_view text) const { return tokenizer().token_id(text).value(); }

    /// Makes next(ids) the token with the largest logit by far.
    void force(std::function<Token(std::span<const Token>)> next) const {
        state_->logits = [next = std::move(next)](std::span<const Token> ids, std::span<l3::f32> logits) {
            std::fill(logits.begin(), logits.end(), 0.f);
            logits[std::size_t(next(ids))] = 100;
        };
    }
    /// After a prompt of this many tokens emits these, then the last one for ever.
    void emit(Index prompt, std::vector<Token> tokens) const {
        force([=](std::span<const Token> ids) {
            const Index n = std::max<Index>(0, Index(ids.size()) - prompt);
            return tokens[std::min(std::size_t(n), tokens.size() - 1)];
        });
    }

  private:
    std::shared_ptr<State> state_;
};

}  // namespace support
