#pragma once
// How a text is divided before a tokenizer's model sees it: the steps of "pre_tokenizer" in tokenizer.json.
#include "pretokenize/pattern.hpp"
#include "utf8.hpp"
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace l3::inline v0::tokenizer {

/// Where a piece stands, which decides whether a space is put before it.
enum class Place {
    start,      ///< it begins the text
    continued,  ///< it begins the text, which continues another
    inside,     ///< anywhere else
};

/// Divides at the matches of a pattern ("Split" in tokenizer.json).
struct Split {
    enum Behavior { isolated, removed, merged_with_previous, merged_with_next, contiguous };
    Pattern pattern;
    Behavior behavior = isolated;
    bool invert = false;  ///< the pattern describes what is between the separators
};

/// Puts a space before a piece that does not begin with one ("add_prefix_space" of "ByteLevel").
struct PrefixSpace {};

/// Puts a space before a piece that does not begin with one, and divides before each space ("Metaspace").
struct Metaspace {
    enum Prepend { never, first, always };
    Prepend prepend = always;
    bool split = true;
};

/// The pattern of GPT-2, which "ByteLevel" with "use_regex" stands for.
inline constexpr std::string_view gpt2_pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// The steps one after another, each dividing further what the ones before it left. Immutable and thread-safe.
class PreTokenizer {
  public:
    using Step = std::variant<Split, PrefixSpace, Metaspace>;

    template <class S>
    void add(S step) {
        steps_.emplace_back(std::move(step));
    }
    [[nodiscard]] const std::vector<Step>& steps() const { return steps_; }

    /// The memory that one call needs.
    class Scratch {
      public:
        explicit Scratch(const PreTokenizer& pre_tokenizer) {
            for (const Step& step : pre_tokenizer.steps_)
                if (const Split* const split = std::get_if<Split>(&step)) matchers_.emplace_back(split->pattern);
        }

      private:
        friend class PreTokenizer;
        std::vector<Matcher> matchers_;
    };

    /// Calls emit(piece) for each piece of a text (valid UTF-8), from left to right; no piece is empty, and a piece lives
    /// during its call. Throws UnsupportedError as Matcher does.
    template <class Emit>
    void run(std::string_view text, Place place, Scratch& scratch, const Emit& emit) const {
        if (!text.empty()) apply(0, 0, text, place, scratch, emit);
    }

  private:
    struct Part {
        std::string_view text;
        bool match;
    };

    template <class Emit>
    void apply(std::size_t step, std::size_t matcher, std::string_view text, Place place, Scratch& scratch,
               const Emit& emit) const {
        if (step == steps_.size()) return emit(text);
        const auto next = [&](std::string_view piece) {
            apply(step + 1, matcher, piece, std::exchange(place, Place::inside), scratch, emit);
        };
        if (const Split* const split = std::get_if<Split>(&steps_[step])) {
            Matcher& matches = scratch.matchers_[matcher++];
            if (split->behavior == Split::isolated) {
                divide(matches, text, [&](std::string_view part, bool) { next(part); });
            } else {
                for (const std::string_view part : arrange(*split, matches, text)) next(part);
            }
        } else if (const Metaspace* const space = std::get_if<Metaspace>(&steps_[step])) {
            const bool prepend = space->prepend == Metaspace::always  ? place != Place::continued
                                 : space->prepend == Metaspace::first ? place == Place::start
                                                                      : false;
            std::string written;
            if (prepend && !text.starts_with(' ')) text = written.append(1, ' ').append(text);
            while (space->split && !text.empty()) {
                const std::size_t end = std::min(text.find(' ', 1), text.size());
                next(text.substr(0, end));
                text.remove_prefix(end);
            }
            if (!text.empty()) next(text);
        } else {
            if (place == Place::continued || text.starts_with(' ')) return next(text);
            const std::string written = ' ' + std::string(text);
            next(written);
        }
    }

    /// Calls part(text, is a match) for the matches and what is between them.
    template <class F>
    static void divide(Matcher& matcher, std::string_view text, const F& part) {
        std::size_t at = 0;
        matcher.for_each(text, [&](std::size_t begin, std::size_t end) {
            if (at < begin) part(text.substr(at, begin - at), false);
            part(text.substr(begin, end - begin), true);
            at = end;
        });
        if (at < text.size()) part(text.substr(at), false);
    }

    /// The pieces by the other behaviours, as NormalizedString::split in huggingface/tokenizers has them.
    static std::vector<std::string_view> arrange(const Split& split, Matcher& matcher, std::string_view text) {
        std::vector<Part> parts;
        divide(matcher, text, [&](std::string_view part, bool match) { parts.push_back({part, match != split.invert}); });
        std::vector<std::string_view> pieces;
        bool joined = false;  // into the piece after it
        for (std::size_t i = 0; i < parts.size(); ++i) {
            const bool match = parts[i].match, before = i > 0 && parts[i - 1].match;
            if (split.behavior == Split::removed && match) continue;
            const bool join = split.behavior == Split::merged_with_previous ? i > 0 && match && !before
                              : split.behavior == Split::contiguous         ? i > 0 && match == before
                                                                            : joined;
            if (join) {
                pieces.back() = {pieces.back().data(), pieces.back().size() + parts[i].text.size()};
            } else {
                pieces.push_back(parts[i].text);
            }
            joined = split.behavior == Split::merged_with_next && match && i + 1 < parts.size() && !parts[i + 1].match;
        }
        return pieces;
    }

    std::vector<Step> steps_;
};

}  // namespace l3::inline v0::tokenizer
