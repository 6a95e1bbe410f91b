#pragma once
// The model behind byte-level tokenizers: a piece is bytes, and bytes are merged.
#include "bpe/merge.hpp"
#include "vocabulary.hpp"
#include <array>
#include <string_view>
#include <vector>

namespace l3::inline v0::tokenizer {

/// Byte-level byte pair encoding. Source: BPE::merge_word in huggingface/tokenizers.
struct ByteLevelBpe {
    MergeTable merges;
    std::array<Token, 256> byte_tokens{};  ///< the token of each single byte, -1 if there is none
    bool ignore_merges = false;            ///< a piece that is a token is that token, whether merges lead there or not
    Token unknown = -1;                    ///< stands for bytes without a token; if -1, such bytes are left out
    bool fuse_unknown = false;             ///< once for neighbouring ones

    /// Finds the tokens of single bytes.
    void set_bytes(const Vocabulary& vocabulary) {
        for (std::size_t b = 0; b < 256; ++b) {
            const char byte = static_cast<char>(static_cast<unsigned char>(b));
            byte_tokens[b] = vocabulary.find({&byte, 1});
        }
    }

    /// Appends the ids of a piece to out. symbols is memory for use in between.
    void encode(const Vocabulary& vocabulary, std::string_view piece, std::vector<Symbol>& symbols,
                std::vector<Token>& out) const {
        if (ignore_merges) {
            if (const Token id = vocabulary.find(piece); id >= 0) return out.push_back(id);
        }
        symbols.clear();
        bool after_unknown = false;
        for (std::size_t i = 0; i < piece.size(); ++i) {
            const Token id = byte_tokens[static_cast<unsigned char>(piece[i])];
            if (id >= 0)
                symbols.push_back({id, i, i + 1});
            else if (after_unknown && fuse_unknown)
                symbols.back().end = i + 1;
            else if (unknown >= 0)
                symbols.push_back({unknown, i, i + 1});
            after_unknown = id < 0 && unknown >= 0;
        }
        merge_pairs(symbols, [this](const Symbol& left, const Symbol& right) { return merges.find(left.id, right.id); });
        for (const Symbol& symbol : symbols) out.push_back(symbol.id);
    }
};

}  // namespace l3::inline v0::tokenizer
