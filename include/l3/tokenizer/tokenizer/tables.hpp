#pragma once
// What the readers of tokenizer files share: merges by the texts of tokens, scores, and the names of byte tokens.
#include "pipeline.hpp"
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

/// The byte that "<0x0A>" stands for, or -1 for another text.
[[nodiscard]] constexpr int byte_of_token(std::string_view text) {
    if (text.size() != 6 || !text.starts_with("<0x") || text[5] != '>') return -1;
    int byte = 0;
    for (const char c : text.substr(3, 2)) {
        const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
        if (digit < 0) return -1;
        byte = 16 * byte + digit;
    }
    return byte;
}

/// The texts of tokens as a file writes them, and the ids by them.
class WrittenTokens {
  public:
    /// The texts must outlive this.
    explicit WrittenTokens(std::vector<std::string_view> by_id) : by_id_(std::move(by_id)), index_(by_id_.size()) {
        for (std::size_t i = 0; i < by_id_.size(); ++i)
            if (!by_id_[i].empty()) index_.insert(static_cast<Token>(i), text_of());
    }
    [[nodiscard]] Token find(std::string_view text) const { return index_.find(text, text_of()); }

  private:
    struct TextOf {
        const std::vector<std::string_view>* by_id;
        std::string_view operator()(Token id) const { return (*by_id)[static_cast<std::size_t>(id)]; }
    };
    [[nodiscard]] TextOf text_of() const { return {&by_id_}; }

    std::vector<std::string_view> by_id_;
    TextIndex index_;
};

/// Collects merges, the earlier of lower rank.
class MergeReader {
  public:
    MergeReader(const std::string& file, const WrittenTokens& tokens, std::size_t merges)
        : file_(file), tokens_(tokens), table_(merges) {}

    /// Throws FormatError unless both are tokens, and together too.
    void add(std::string_view left, std::string_view right) {
        joined_.assign(left).append(right);
        const auto id = [&](std::string_view text) {
            const Token found = tokens_.find(text);
            require<FormatError>(found >= 0, file_, ": merge ", rank_, " (\"", left, "\" and \"", right, "\") needs the token \"",
                                 text, "\", and there is none");
            return found;
        };
        const Token first = id(left), second = id(right);
        table_.insert(first, second, {rank_, id(joined_)});
        ++rank_;
    }
    /// A merge written as the two texts with a space between.
    void add(std::string_view merge) {
        const std::size_t space = merge.find(' ');
        require<FormatError>(space != merge.npos && space > 0 && space + 1 < merge.size() && merge.find(' ', space + 1) == merge.npos,
                             file_, ": merge ", rank_, " is \"", merge, "\", expected two tokens with one space between");
        add(merge.substr(0, space), merge.substr(space + 1));
    }
    [[nodiscard]] MergeTable take(int vocabulary) && {
        require<FormatError>(rank_ > 0 || vocabulary <= 512, file_, ": no merges for a vocabulary of ", vocabulary, " tokens");
        return std::move(table_);
    }

  private:
    const std::string& file_;
    const WrittenTokens& tokens_;
    MergeTable table_;
    std::int32_t rank_ = 0;
    std::string joined_;
};

/// Makes the model of a pipeline one that merges by scores: after the vocabulary has been read.
inline void set_scores(Pipeline& pipeline, const std::vector<float>& scores) {
    SentencePieceBpe model;
    for (std::size_t i = 0; i < scores.size(); ++i)
        require<FormatError>(scores[i] == scores[i], pipeline.name, ": the score of token ", i, " is not a number");
    model.set_ranks(scores);
    model.byte_tokens.fill(-1);
    for (Token id = 0; id < pipeline.vocabulary.size(); ++id)
        if (pipeline.vocabulary.kind(id) == TokenKind::byte)
            model.byte_tokens[static_cast<unsigned char>(pipeline.vocabulary.bytes(id)[0])] = id;
    model.set_separate_words(pipeline.vocabulary);
    pipeline.model = std::move(model);
}

}  // namespace l3::inline v0::tokenizer
