#pragma once
#include "../core/error.hpp"
#include "../core/math.hpp"
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

/// A hash of some bytes, eight at a time. Not meant to withstand an adversary: tables built on it hold what files say.
[[nodiscard]] inline std::uint64_t hash_bytes(std::string_view bytes) {
    constexpr std::uint64_t odd = 0x9E3779B97F4A7C15;
    const auto mix = [](std::uint64_t h, std::uint64_t word) {
        h = (h ^ word) * odd;
        return h ^ h >> 32;
    };
    std::uint64_t h = bytes.size() * odd;
    while (bytes.size() >= 8) {
        std::uint64_t word;
        std::memcpy(&word, bytes.data(), 8);
        h = mix(h, word);
        bytes.remove_prefix(8);
    }
    std::uint64_t rest = 0;
    for (const char c : bytes) rest = rest << 8 | static_cast<unsigned char>(c);
    return mix(mix(h, rest), h);
}

/// Ids by text: a hash table over texts that are kept elsewhere.
class TextIndex {
  public:
    /// Room for this many entries.
    explicit TextIndex(std::size_t entries = 0) {
        std::size_t slots = 16;
        while (slots < 2 * entries) slots *= 2;
        slots_.resize(slots);
    }

    /// The id whose text(id) is this one, or -1.
    template <class TextOf>
    [[nodiscard]] Token find(std::string_view text, const TextOf& text_of) const {
        const std::uint64_t h = hash_bytes(text);
        for (std::size_t at = h & mask();; at = (at + 1) & mask()) {
            const Slot slot = slots_[at];
            if (slot.id < 0 || (slot.tag == tag(h) && text_of(slot.id) == text)) return slot.id;
        }
    }

    /// Adds an id unless its text is there; returns the id that is there afterwards.
    template <class TextOf>
    Token insert(Token id, const TextOf& text_of) {
        if (2 * (used_ + 1) > slots_.size()) grow(text_of);
        const std::uint64_t h = hash_bytes(text_of(id));
        std::size_t at = h & mask();
        for (; slots_[at].id >= 0; at = (at + 1) & mask())
            if (slots_[at].tag == tag(h) && text_of(slots_[at].id) == text_of(id)) return slots_[at].id;
        slots_[at] = {tag(h), id};
        ++used_;
        return id;
    }

  private:
    struct Slot {
        std::uint32_t tag = 0;
        Token id = -1;
    };
    [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
    static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }

    template <class TextOf>
    void grow(const TextOf& text_of) {
        TextIndex larger(slots_.size());
        for (const Slot& slot : slots_)
            if (slot.id >= 0) larger.insert(slot.id, text_of);
        *this = std::move(larger);
    }

    std::vector<Slot> slots_;
    std::size_t used_ = 0;
};

/// What a token is.
enum class TokenKind : std::uint8_t {
    absent,   ///< no token has this id
    normal,   ///< found by merging
    byte,     ///< stands for one byte, where characters are missing (byte fallback)
    added,    ///< found in the text before anything else is done
    special,  ///< found so only where special tokens are parsed; no text, but a sign to the model
    unused,   ///< has a text, but encoding never gives it
};

/// The tokens by id, each with the bytes it stands for, and those that merging can give by their bytes.
class Vocabulary {
  public:
    /// Tokens are added in any order. Throws FormatError if the id is taken, negative, or absurdly large.
    void add(Token id, std::string bytes, TokenKind kind) { add(id, std::move(bytes), kind, kind == TokenKind::normal); }
    /// mergeable: merging can give it.
    void add(Token id, std::string bytes, TokenKind kind, bool mergeable) {
        require<FormatError>(id >= 0 && id < (1 << 28), "token id ", id, " is out of range");
        const auto at = static_cast<std::size_t>(id);
        if (at >= tokens_.size()) tokens_.resize(at + 1);
        require<FormatError>(tokens_[at].kind == TokenKind::absent, "two tokens have the id ", id);
        tokens_[at] = {std::move(bytes), kind};
        if (mergeable) index_.insert(id, text_of());
    }

    /// Ids are below this.
    [[nodiscard]] int size() const { return static_cast<int>(tokens_.size()); }
    [[nodiscard]] bool contains(Token id) const { return kind(id) != TokenKind::absent; }
    [[nodiscard]] TokenKind kind(Token id) const {
        return id < 0 || id >= size() ? TokenKind::absent : tokens_[static_cast<std::size_t>(id)].kind;
    }
    /// The bytes of a token; id below size().
    [[nodiscard]] std::string_view bytes(Token id) const { return tokens_[static_cast<std::size_t>(id)].bytes; }
    /// The mergeable token with these bytes, or -1.
    [[nodiscard]] Token find(std::string_view bytes) const { return index_.find(bytes, text_of()); }

  private:
    struct Entry {
        std::string bytes;
        TokenKind kind = TokenKind::absent;
    };
    struct TextOf {
        const std::vector<Entry>* tokens;
        std::string_view operator()(Token id) const { return (*tokens)[static_cast<std::size_t>(id)].bytes; }
    };
    [[nodiscard]] TextOf text_of() const { return {&tokens_}; }

    std::vector<Entry> tokens_;
    TextIndex index_;
};

}  // namespace l3::inline v0::tokenizer
