#pragma once
// Text to token ids and back. The page in front of tokenizer/tokenizer/: readers of tokenizer files, and encoding.
#include "../core/math.hpp"
#include "segment.hpp"
#include "utf8_stream.hpp"
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace l3::inline v0 {

namespace io { struct Gguf; }
namespace tokenizer { struct Pipeline; }

/// How text becomes ids.
struct EncodeOptions {
    bool parse_special = false;  ///< special tokens written in the text become their ids; otherwise they are only text
    bool add_bos = false;        ///< the start token first, unless the text itself begins with it
    bool add_prefix = true;      ///< the space that SentencePiece puts before a text; false if it continues another text
};

/// A tokenizer: a handle to immutable shared state, cheap to copy; all members may be called from any threads at once.
class Tokenizer {
  public:
    /// Reads tokenizer.json, a .gguf, a llama2.c tokenizer.bin, or what a directory has of these.
    [[nodiscard]] static Tokenizer load(const std::filesystem::path& path);

    /// The ids of a text, which may be any bytes.
    [[nodiscard]] std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const;
    /// The ids of a rendered prompt: special tokens are matched inside template segments only.
    [[nodiscard]] std::vector<Token> encode(std::span<const Segment> segments, const EncodeOptions& options = {}) const;
    /// The text of ids.
    [[nodiscard]] std::string decode(std::span<const Token> ids, bool skip_special = false) const;

    /// The bytes that a token stands for, a leading space included; of a special token, its text.
    [[nodiscard]] std::string_view piece(Token id) const;
    [[nodiscard]] bool is_special(Token id) const;
    /// Ids are below this.
    [[nodiscard]] int vocab_size() const;
    [[nodiscard]] std::optional<Token> bos() const;
    /// The id of a token by its text.
    [[nodiscard]] std::optional<Token> token_id(std::string_view text) const;
    /// The ids that end a text or a turn, as the tokenizer's files say.
    [[nodiscard]] std::span<const Token> end_ids() const;
    /// Whether raw text begins with the start token.
    [[nodiscard]] bool add_bos() const;
    /// The text of the chat template, or nothing.
    [[nodiscard]] const std::string& chat_template() const;
    /// "byte-level BPE" or "SentencePiece BPE".
    [[nodiscard]] const std::string& kind() const;
    /// Throws FormatError naming both numbers if a model with this many embedding rows cannot take these ids.
    void require_fits(Index rows, std::string_view model) const;

  private:
    std::shared_ptr<const tokenizer::Pipeline> pipeline_;
};

}  // namespace l3::inline v0
