#pragma once
// Everything a tokenizer's files say, in the order in which text passes through it. Immutable once it is read.
#include "../added_tokens.hpp"
#include "../bpe.hpp"
#include "../pretokenize.hpp"
#include "../sentencepiece.hpp"
#include "../vocabulary.hpp"
#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace l3::inline v0::tokenizer {

/// A step of "normalizer" in tokenizer.json: puts a text in front (from is empty), or replaces one by another.
struct Normalization {
    std::string from, to;
};

/// The text with all of from replaced; it ends early, longer than `most` bytes, if it would become so.
[[nodiscard]] inline std::string replace_all(std::string_view text, std::string_view from, std::string_view to,
                                             std::size_t most = std::string_view::npos) {
    std::string out;
    for (;;) {
        const std::size_t at = text.find(from);
        out += text.substr(0, at);
        if (at == text.npos || out.size() > most) return out;
        out += to;
        text.remove_prefix(at + from.size());
    }
}

/// What normalizing may make of a text of so many bytes, in bytes: more than the normalizers of any known tokenizer do.
[[nodiscard]] constexpr std::size_t most_normalized(std::size_t bytes) { return 16 * bytes + (std::size_t{1} << 20); }

/// What the normalizer makes of a text: a view of it, or of memory that is given. prefix: what puts a text in front
/// does. Throws UnsupportedError naming file and step if that is longer than most.
[[nodiscard]] inline std::string_view normalize(const std::vector<Normalization>& normalizer, std::string_view text,
                                                bool prefix, std::size_t most, std::string& memory,
                                                std::string_view file) {
    for (std::size_t i = 0; i < normalizer.size(); ++i) {
        const auto& [from, to] = normalizer[i];
        if (from.empty() ? !prefix : text.find(from) == text.npos) continue;
        text = memory = from.empty() ? to + std::string(text) : replace_all(text, from, to, most);
        require<UnsupportedError>(text.size() <= most, file, ": step ", i, " of the normalizer (\"", from, "\" to \"",
                                  to, "\") makes a text longer than the ", most, " bytes that it may become");
    }
    return text;
}

/// U+2581, which SentencePiece's vocabularies write for a space.
inline constexpr std::string_view written_space = "\xE2\x96\x81";

struct Pipeline {
    std::string name;  ///< of the file, for messages
    std::string kind;

    AddedTokens added;             ///< found in the text as it is
    AddedTokens added_normalized;  ///< found in what the normalizer makes of it
    std::vector<Normalization> normalizer;
    PreTokenizer pre_tokenizer;
    std::variant<ByteLevelBpe, SentencePieceBpe> model;
    Vocabulary vocabulary;

    bool bos_begins_text = false;  ///< what stands behind the start token is treated as the beginning of a text
    bool prefix_everywhere = true; ///< the normalizer puts its prefix before every part between added tokens
    bool strip_prefix = false;     ///< decoding takes the space away that encoding put in front
    bool one_token_a_row = false;  ///< the model must have exactly this vocabulary (llama2.c)

    std::optional<Token> bos;
    bool add_bos = false;
    std::vector<Token> end_ids;
    std::string chat_template;

    /// Adds a token that ends a text. Throws FormatError if there is none of this id.
    void add_end(Token id) {
        require_token(id, "an end token");
        if (std::find(end_ids.begin(), end_ids.end(), id) == end_ids.end()) end_ids.push_back(id);
    }
    void require_token(Token id, std::string_view what) const {
        require<FormatError>(vocabulary.contains(id), name, ": the id of ", what, " is ", id, ", and there is no such token (",
                             vocabulary.size(), " ids)");
    }
};

}  // namespace l3::inline v0::tokenizer
