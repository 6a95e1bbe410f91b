#pragma once
// One call of Tokenizer::encode: added tokens, normalizer, pre-tokenizer, model.
#include "../added_tokens.hpp"
#include "pipeline.hpp"
#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace l3::inline v0::tokenizer {

/// The short pieces that one call has met, and where their ids are in its output. Each piece has one place, and the last
/// one there stays.
class PieceCache {
  public:
    explicit PieceCache(std::size_t text_bytes) {
        std::size_t slots = 64;
        while (slots < largest && slots * 32 < text_bytes) slots *= 2;
        if (text_bytes >= 256) slots_.resize(slots);
    }

    /// Appends the ids of the piece if it was met before, else what encode() appends.
    template <class Encode>
    void append(std::string_view piece, std::vector<Token>& out, const Encode& encode) {
        if (slots_.empty() || piece.size() > sizeof Slot::text) return encode();
        Slot& slot = slots_[hash_bytes(piece) & (slots_.size() - 1)];
        if (piece == std::string_view(slot.text, slot.length)) {
            for (std::size_t i = slot.begin, n = slot.count; n > 0; --n, ++i) out.push_back(out[i]);
            return;
        }
        const std::size_t begin = out.size();
        encode();
        slot.begin = begin;
        slot.count = static_cast<std::uint8_t>(out.size() - begin);  // at most one id for each byte
        slot.length = static_cast<std::uint8_t>(piece.copy(slot.text, sizeof slot.text));
    }

  private:
    static constexpr std::size_t largest = 1 << 14;
    struct Slot {
        std::size_t begin = 0;
        std::uint8_t count = 0, length = 0;
        char text[22];
    };
    std::vector<Slot> slots_;
};

class Encoder {
  public:
    /// add_prefix: the text does not continue another. run() throws UnsupportedError as normalize() and Matcher do.
    Encoder(const Pipeline& pipeline, std::size_t text_bytes, bool add_prefix)
        : pipeline_(pipeline), add_prefix_(add_prefix), most_(most_normalized(text_bytes)), scratch_(pipeline.pre_tokenizer), cache_(text_bytes) {}

    /// The ids of a text; special tokens are matched within the regions.
    [[nodiscard]] std::vector<Token> run(std::string_view text, const Regions& special) && {
        ids_.reserve(text.size() / 4 + 1);
        std::size_t from = 0;
        while (from < text.size()) {
            const auto match = pipeline_.added.next(text, from, special);
            const std::size_t end = match ? match->begin : text.size();
            if (from < end) part(text.substr(from, end - from), place(from));
            if (match) ids_.push_back(match->id);
            from = match ? match->end : end;
        }
        return std::move(ids_);
    }

  private:
    [[nodiscard]] Place place(std::size_t from) const {
        if (from == 0) return add_prefix_ ? Place::start : Place::continued;
        return pipeline_.bos_begins_text && !ids_.empty() && ids_.back() == pipeline_.bos ? Place::start : Place::inside;
    }

    /// What stands between added tokens.
    void part(std::string_view text, Place place) {
        std::string memory;
        const bool prefix = pipeline_.prefix_everywhere ? place != Place::continued : place == Place::start;
        text = normalize(pipeline_.normalizer, text, prefix, most_, memory, pipeline_.name);
        most_ -= std::min(most_, text.size());
        if (pipeline_.added_normalized.empty()) return plain(text, place);
        for (std::size_t from = 0; from < text.size();) {
            const auto match = pipeline_.added_normalized.next(text, from, {});
            const std::size_t end = match ? match->begin : text.size();
            if (from < end) plain(text.substr(from, end - from), from == 0 ? place : Place::inside);
            if (match) ids_.push_back(match->id);
            from = match ? match->end : end;
        }
    }

    /// Text without added tokens. Bytes that are no UTF-8 are a piece of their own: patterns speak of characters.
    void plain(std::string_view text, Place place) {
        while (!text.empty()) {
            const std::size_t valid = utf8_prefix(text);
            pipeline_.pre_tokenizer.run(text.substr(0, valid), place, scratch_, [this](std::string_view piece) { encode(piece); });
            place = Place::inside;
            text.remove_prefix(valid);
            std::size_t invalid = 0;
            while (invalid < text.size()) {
                const Utf8Unit unit = utf8_unit(text.substr(invalid));
                if (unit.kind == Utf8Unit::character) break;
                invalid += unit.length;
            }
            if (invalid > 0) encode(text.substr(0, invalid));
            text.remove_prefix(invalid);
        }
    }

    void encode(std::string_view piece) {
        if (const auto* const bpe = std::get_if<ByteLevelBpe>(&pipeline_.model)) {
            encode_with(*bpe, piece);
        } else {
            const auto& sentencepiece = std::get<SentencePieceBpe>(pipeline_.model);
            sentencepiece.for_each_word(piece, [&](std::string_view word) { encode_with(sentencepiece, word); });
        }
    }

    template <class Model>
    void encode_with(const Model& model, std::string_view piece) {
        cache_.append(piece, ids_, [&] { model.encode(pipeline_.vocabulary, piece, symbols_, ids_); });
    }

    const Pipeline& pipeline_;
    bool add_prefix_;
    std::size_t most_;  // bytes that what is left of the text may become
    PreTokenizer::Scratch scratch_;
    PieceCache cache_;
    std::vector<Symbol> symbols_;
    std::vector<Token> ids_;
};

}  // namespace l3::inline v0::tokenizer
