#pragma once
// Text to token ids and back. The page in front of tokenizer/tokenizer/: readers of tokenizer files, and encoding.
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "../io/gguf.hpp"
#include "segment.hpp"
#include "tokenizer/encoder.hpp"
#include "tokenizer/pipeline.hpp"
#include "tokenizer/read_gguf.hpp"
#include "tokenizer/read_json.hpp"
#include "tokenizer/read_llama2c.hpp"
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace l3::inline v0 {

/// How text becomes ids.
struct EncodeOptions {
    bool parse_special = false;  ///< special tokens written in the text become their ids; otherwise they are only text
    bool add_bos = false;        ///< the start token first, unless the text itself begins with it
    bool add_prefix = true;      ///< the space that SentencePiece puts before a text; false if it continues another text
};

/// A tokenizer: a handle to immutable shared state, cheap to copy; all members may be called from any threads at once.
/// Encoding gives the ids of the tokenizer that the file was made for, for any bytes; what is no UTF-8 stays what it is.
class Tokenizer {
  public:
    /// Reads a tokenizer.json (with tokenizer_config.json and chat_template.jinja beside it), a .gguf or the tokenizer.bin
    /// of llama2.c; of a directory, tokenizer.json, else tokenizer.bin.
    /// Throws IoError (listing the names looked for), FormatError, and UnsupportedError naming what is not known.
    [[nodiscard]] static Tokenizer load(const std::filesystem::path& path) {
        std::error_code ignored;
        if (std::filesystem::is_directory(path, ignored)) {
            for (const char* name : {"tokenizer.json", "tokenizer.bin"})
                if (std::filesystem::exists(path / name, ignored)) return load(path / name);
            fail<IoError>("no tokenizer in ", path.string(), ": looked for tokenizer.json and tokenizer.bin",
                          std::filesystem::exists(path / "tokenizer.model", ignored) ? " (tokenizer.model is not read)" : "");
        }
        const std::filesystem::path extension = path.extension();
        if (extension == ".json") return Tokenizer(tokenizer::read_json(path));
        if (extension == ".gguf") return from_gguf(io::open_gguf(path));
        if (extension == ".bin") return Tokenizer(tokenizer::read_llama2c(path));
        if (!std::filesystem::exists(path, ignored))
            fail<IoError>("cannot open ", path.string(), ": ", ignored ? ignored.message() : "there is no such file");
        fail<UnsupportedError>(path.string(), " is no tokenizer file by its name; known are tokenizer.json, tokenizer.bin and .gguf");
    }
    /// The tokenizer in a GGUF file that is already open. Throws as load.
    [[nodiscard]] static Tokenizer from_gguf(const io::Gguf& gguf) { return Tokenizer(tokenizer::read_gguf(gguf)); }

    /// The ids of a text. Added tokens that are not special are always found in it.
    /// Throws UnsupportedError if the file's pattern takes too many steps, or its normalizer makes too much of the text.
    /// n log n in the text's length for the patterns of known tokenizers; others can take n^2, up to that limit.
    [[nodiscard]] std::vector<Token> encode(std::string_view text, const EncodeOptions& options = {}) const {
        tokenizer::Regions special;
        if (options.parse_special) special.add(0, text.size());
        return encode(text, special, options);
    }
    /// The ids of a rendered prompt: special tokens are found in template text only, never in messages, whatever
    /// parse_special says. Between special tokens the text is encoded as a whole, across the borders of segments.
    [[nodiscard]] std::vector<Token> encode(std::span<const Segment> segments, const EncodeOptions& options = {}) const {
        std::string text;
        tokenizer::Regions special;
        for (const Segment& segment : segments) {
            if (segment.message < 0) special.add(text.size(), text.size() + segment.text.size());
            text += segment.text;
        }
        return encode(text, special, options);
    }

    /// The text of ids, byte for byte what was encoded where every byte of it has a token. Of special tokens, their text,
    /// or nothing. The space that SentencePiece puts before a text is taken away at the beginning and behind the start token.
    /// Throws ArgumentError naming an id that is out of range.
    [[nodiscard]] std::string decode(std::span<const Token> ids, bool skip_special = false) const {
        std::string text;
        bool begins = true;
        for (const Token id : ids) {
            if (!skip_special || !is_special(id)) text += piece(id, begins);
            begins = begins_after(id);
        }
        return text;
    }

    /// The bytes that a token adds to a text, a leading space included; of a special token, its text.
    /// Throws ArgumentError if the id is out of range.
    [[nodiscard]] std::string_view piece(Token id) const {
        require<ArgumentError>(id >= 0 && id < vocab_size(), "token id ", id, " is out of range: ", pipeline_->name, " has ",
                               vocab_size(), " ids");
        return pipeline_->vocabulary.bytes(id);
    }
    /// The bytes that a token adds to a text. begins: it is the first of a text, before which there may be a space that is
    /// not the text's own. Throws ArgumentError if the id is out of range.
    [[nodiscard]] std::string_view piece(Token id, bool begins) const {
        std::string_view bytes = piece(id);
        if (begins && pipeline_->strip_prefix && !is_special(id) && bytes.starts_with(' ')) bytes.remove_prefix(1);
        return bytes;
    }
    /// True if what follows this token begins a text: it is the start token.
    [[nodiscard]] bool begins_after(Token id) const { return id == pipeline_->bos; }

    /// True for ids that are signs to the model, not text.
    [[nodiscard]] bool is_special(Token id) const { return pipeline_->vocabulary.kind(id) == tokenizer::TokenKind::special; }
    /// Ids are below this; some may have no token.
    [[nodiscard]] int vocab_size() const { return pipeline_->vocabulary.size(); }
    /// The start token.
    [[nodiscard]] std::optional<Token> bos() const { return pipeline_->bos; }
    /// The id of an added or special token by its text, or of another by its bytes.
    [[nodiscard]] std::optional<Token> token_id(std::string_view text) const {
        for (const tokenizer::AddedTokens* added : {&pipeline_->added, &pipeline_->added_normalized})
            if (const tokenizer::AddedToken* const found = added->find(text)) return found->id;
        const Token id = pipeline_->vocabulary.find(text);
        return id < 0 ? std::nullopt : std::optional(id);
    }
    /// The ids that end a text or a turn, as the tokenizer's files say.
    [[nodiscard]] std::span<const Token> end_ids() const { return pipeline_->end_ids; }
    /// Whether raw text begins with the start token.
    [[nodiscard]] bool add_bos() const { return pipeline_->add_bos; }
    /// The text of the chat template in the tokenizer's files, or nothing.
    [[nodiscard]] const std::string& chat_template() const { return pipeline_->chat_template; }
    /// "byte-level BPE" or "SentencePiece BPE".
    [[nodiscard]] const std::string& kind() const { return pipeline_->kind; }
    /// The file it was read from.
    [[nodiscard]] const std::string& name() const { return pipeline_->name; }

    /// Throws FormatError naming both numbers unless a model with this many rows in its embedding can take all ids.
    void require_fits(Index rows, std::string_view model) const {
        const bool fits = pipeline_->one_token_a_row ? vocab_size() == rows : vocab_size() <= rows;
        require<FormatError>(fits, pipeline_->name, " has ", vocab_size(), " tokens, but ", model, " has an embedding of ", rows,
                             " rows: this is not the model's tokenizer");
    }

  private:
    explicit Tokenizer(std::shared_ptr<const tokenizer::Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}

    [[nodiscard]] std::vector<Token> encode(std::string_view text, const tokenizer::Regions& special,
                                            const EncodeOptions& options) const {
        std::vector<Token> ids = tokenizer::Encoder(*pipeline_, text.size(), options.add_prefix).run(text, special);
        if (options.add_bos && bos() && (ids.empty() || ids.front() != *bos())) ids.insert(ids.begin(), *bos());
        return ids;
    }

    std::shared_ptr<const tokenizer::Pipeline> pipeline_;
};

}  // namespace l3::inline v0
