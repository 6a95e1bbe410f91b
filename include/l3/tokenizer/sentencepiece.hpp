#pragma once
// The model behind SentencePiece tokenizers of the BPE kind: a piece is characters, which are merged by a list of merges
// (tokenizer.json) or by the scores of what they become (GGUF, llama2.c).
#include "bpe/merge.hpp"
#include "utf8.hpp"
#include "vocabulary.hpp"
#include <algorithm>
#include <array>
#include <functional>
#include <string_view>
#include <vector>

namespace l3::inline v0::tokenizer {

/// Byte pair encoding of characters; those that are no token become the tokens of their bytes. Spaces are spaces here, in
/// the vocabulary and in the text: files that write them as U+2581 are read so.
/// Sources: Kudo and Richardson 2018, bpe_model.cc in google/sentencepiece; BPE::merge_word in huggingface/tokenizers.
struct SentencePieceBpe {
    MergeTable merges;
    std::vector<std::int32_t> ranks;       ///< by id: tokens of higher score first; empty if merges decide
    std::array<Token, 256> byte_tokens{};  ///< <0x00> to <0xFF>, -1 if missing
    bool ignore_merges = false;            ///< a piece that is a token is that token, whether merges lead there or not
    Token unknown = -1;                    ///< stands for what has no token; if -1, that is left out
    bool fuse_unknown = false;             ///< once for neighbouring characters
    bool separate_words = false;           ///< no token has anything else before a space

    /// Tokens of equal score have equal ranks.
    void set_ranks(const std::vector<float>& scores) {
        std::vector<float> sorted = scores;
        std::sort(sorted.begin(), sorted.end(), std::greater<>());
        sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
        ranks.clear();
        for (const float score : scores)
            ranks.push_back(static_cast<std::int32_t>(
                std::lower_bound(sorted.begin(), sorted.end(), score, std::greater<>()) - sorted.begin()));
    }

    /// Finds out whether words can be encoded one by one: whether no merge reaches over the beginning of a word.
    void set_separate_words(const Vocabulary& vocabulary) {
        separate_words = !ignore_merges && vocabulary.find(" ") >= 0;
        for (Token id = 0; id < vocabulary.size(); ++id)
            if (vocabulary.kind(id) == TokenKind::normal)
                separate_words = separate_words && word_end(vocabulary.bytes(id)) == vocabulary.bytes(id).size();
    }

    /// Calls word(part) for the parts of a piece that can be encoded one by one.
    template <class F>
    void for_each_word(std::string_view piece, const F& word) const {
        while (separate_words && !piece.empty()) {
            const std::size_t end = word_end(piece);
            word(piece.substr(0, end));
            piece.remove_prefix(end);
        }
        if (!piece.empty()) word(piece);
    }

    /// Appends the ids of a piece to out. symbols is memory for use in between.
    void encode(const Vocabulary& vocabulary, std::string_view piece, std::vector<Symbol>& symbols,
                std::vector<Token>& out) const {
        if (ignore_merges) {
            if (const Token id = vocabulary.find(piece); id >= 0) return out.push_back(id);
        }
        symbols.clear();
        if (ranks.empty()) {
            split(vocabulary, piece, symbols, true);
            merge_pairs(symbols, [this](const Symbol& a, const Symbol& b) { return merges.find(a.id, b.id); });
            for (const Symbol& symbol : symbols) out.push_back(symbol.id);
            return;
        }
        split(vocabulary, piece, symbols, false);
        merge_pairs(symbols, [&](const Symbol& a, const Symbol& b) {
            const Token id = vocabulary.find(piece.substr(a.begin, b.end - a.begin));
            return id < 0 ? Merge() : Merge{ranks[static_cast<std::size_t>(id)], id};
        });
        bool after_unknown = false;
        for (const Symbol& symbol : symbols) {
            const std::string_view text = piece.substr(symbol.begin, symbol.end - symbol.begin);
            const bool known = symbol.id >= 0 || has_bytes(text);
            if (symbol.id >= 0)
                out.push_back(symbol.id);
            else if (known)
                for (const char c : text) out.push_back(byte_tokens[static_cast<unsigned char>(c)]);
            else if (unknown >= 0 && !(after_unknown && fuse_unknown))
                out.push_back(unknown);
            after_unknown = !known;
        }
    }

  private:
    /// Where the word at the front of a text ends: before the first space that something else precedes.
    static std::size_t word_end(std::string_view text) {
        return std::min(text.find(' ', std::min(text.find_first_not_of(' '), text.size())), text.size());
    }

    [[nodiscard]] bool has_bytes(std::string_view text) const {
        return std::all_of(text.begin(), text.end(),
                           [&](char c) { return byte_tokens[static_cast<unsigned char>(c)] >= 0; });
    }

    /// The characters of a piece, one symbol each; bytes that are no character one by one. What has no token becomes
    /// the tokens of its bytes, or unknown, now or (id -1) after merging.
    void split(const Vocabulary& vocabulary, std::string_view piece, std::vector<Symbol>& symbols, bool now) const {
        bool after_unknown = false;
        for (std::size_t at = 0; at < piece.size();) {
            const Utf8Unit unit = utf8_unit(piece.substr(at));
            const std::size_t begin = at;
            at += unit.kind == Utf8Unit::character ? unit.length : 1;
            const std::string_view text = piece.substr(begin, at - begin);
            const Token id = vocabulary.find(text);
            const bool known = id >= 0 || !now || has_bytes(text);
            if (id >= 0 || !now)
                symbols.push_back({id, begin, at});
            else if (known)
                for (std::size_t i = begin; i < at; ++i)
                    symbols.push_back({byte_tokens[static_cast<unsigned char>(piece[i])], i, i + 1});
            else if (unknown >= 0 && after_unknown && fuse_unknown)
                symbols.back().end = at;
            else if (unknown >= 0)
                symbols.push_back({unknown, begin, at});
            after_unknown = !known;
        }
    }
};

}  // namespace l3::inline v0::tokenizer
