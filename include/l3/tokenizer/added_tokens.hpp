#pragma once
// Tokens that are found in a text before anything else is done to it: special ones (signs to the model) and others.
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "pretokenize/translate.hpp"
#include "utf8.hpp"
#include <algorithm>
#include <bitset>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::tokenizer {

struct AddedToken {
    std::string text;
    Token id = -1;
    bool special = false;  ///< matched only where special tokens are parsed
    bool lstrip = false;   ///< takes the white space before it along
    bool rstrip = false;   ///< takes the white space behind it along
};

/// Byte ranges of a text in which special tokens are parsed: ascending, not touching one another.
class Regions {
  public:
    struct Region {
        std::size_t begin, end;
    };
    void add(std::size_t begin, std::size_t end) {
        if (begin == end) return;
        if (!regions_.empty() && regions_.back().end == begin)
            regions_.back().end = end;
        else
            regions_.push_back({begin, end});
    }
    /// The region that holds [begin, end), or none.
    [[nodiscard]] const Region* find(std::size_t begin, std::size_t end) const {
        const auto after = std::upper_bound(regions_.begin(), regions_.end(), begin,
                                            [](std::size_t at, const Region& region) { return at < region.begin; });
        return after != regions_.begin() && end <= std::prev(after)->end ? &*std::prev(after) : nullptr;
    }

  private:
    std::vector<Region> regions_;
};

/// Finds added tokens: the leftmost, of those the longest. Immutable once made, and thread-safe.
class AddedTokens {
  public:
    struct Match {
        Token id;
        std::size_t begin, end;  ///< with the white space it takes along
    };

    static constexpr std::size_t most_bytes = 1024;  ///< of a token: at every byte of a text, as many may be compared

    AddedTokens() = default;
    /// file: for messages. Throws UnsupportedError naming a token that is longer than most_bytes.
    explicit AddedTokens(std::vector<AddedToken> tokens, std::string_view file = {}) : tokens_(std::move(tokens)) {
        for (const AddedToken& token : tokens_)
            require<UnsupportedError>(token.text.size() <= most_bytes, file, ": the added token ", token.id, " has ",
                                      token.text.size(), " bytes, expected at most ", most_bytes);
        std::sort(tokens_.begin(), tokens_.end(), [](const auto& a, const auto& b) { return a.text < b.text; });
        for (const AddedToken& token : tokens_) first_bytes_.set(static_cast<unsigned char>(token.text[0]));
    }

    [[nodiscard]] bool empty() const { return tokens_.empty(); }

    /// The token with this text, or nullptr.
    [[nodiscard]] const AddedToken* find(std::string_view text) const {
        const auto found = std::lower_bound(tokens_.begin(), tokens_.end(), text,
                                            [](const AddedToken& token, std::string_view t) { return token.text < t; });
        return found != tokens_.end() && found->text == text ? &*found : nullptr;
    }

    /// The first match in text that begins at from or later; special tokens only within the regions.
    [[nodiscard]] std::optional<Match> next(std::string_view text, std::size_t from, const Regions& special) const {
        if (tokens_.empty()) return std::nullopt;
        for (std::size_t at = from; at < text.size(); ++at) {
            if (!first_bytes_[static_cast<unsigned char>(text[at])]) continue;
            if (const AddedToken* const token = longest(text, at, special)) return strip(*token, text, from, at, special);
        }
        return std::nullopt;
    }

  private:
    [[nodiscard]] const AddedToken* longest(std::string_view text, std::size_t at, const Regions& special) const {
        const AddedToken* found = nullptr;
        auto first = tokens_.begin(), last = tokens_.end();
        for (std::size_t depth = 0; at + depth < text.size(); ++depth) {  // [first, last) agree with the text up to depth
            const auto byte = static_cast<unsigned char>(text[at + depth]);
            const auto key = [&](const AddedToken& t) {
                return t.text.size() == depth ? -1 : int{static_cast<unsigned char>(t.text[depth])};
            };
            first = std::partition_point(first, last, [&](const AddedToken& t) { return key(t) < byte; });
            last = std::partition_point(first, last, [&](const AddedToken& t) { return key(t) == byte; });
            if (first == last) break;
            if (first->text.size() == depth + 1 && (!first->special || special.find(at, at + depth + 1) != nullptr))
                found = &*first;
        }
        return found;
    }

    /// The match with the white space that belongs to it; a special token takes none from outside of its region, where
    /// the text is only text.
    static Match strip(const AddedToken& token, std::string_view text, std::size_t from, std::size_t at,
                       const Regions& special) {
        Match match{token.id, at, at + token.text.size()};
        std::size_t low = from, high = text.size();
        if (const Regions::Region* const region = token.special ? special.find(at, match.end) : nullptr)
            low = std::max(low, region->begin), high = std::min(high, region->end);
        while (token.rstrip && match.end < high) {
            const std::string_view rest = text.substr(match.end, high - match.end);
            const Utf8Unit unit = utf8_unit(rest);
            if (unit.kind != Utf8Unit::character || !is_white_space(utf8_code_point(rest))) break;
            match.end += unit.length;
        }
        while (token.lstrip && match.begin > low) {
            std::size_t begin = match.begin - 1;
            while (begin > low && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
            const std::string_view last = text.substr(begin, match.begin - begin);
            if (utf8_prefix(last) != last.size() || !is_white_space(utf8_code_point(last))) break;
            match.begin = begin;
        }
        return match;
    }

    std::vector<AddedToken> tokens_;  // by text
    std::bitset<256> first_bytes_;
};

}  // namespace l3::inline v0::tokenizer
