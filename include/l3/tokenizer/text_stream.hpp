#pragma once
#include "tokenizer.hpp"
#include "utf8_stream.hpp"
#include <optional>
#include <string>
#include <utility>

namespace l3::inline v0 {

/// Makes text of ids as they come: whole characters, nothing of special tokens. Holds back what may still become a
/// character; bytes that cannot are U+FFFD. All pieces together are valid_utf8(decode(all ids, true)).
class TextStream {
  public:
    /// before: the id that precedes the first one, if any; only at the beginning of a text a leading space may not be its own.
    explicit TextStream(Tokenizer tokenizer, std::optional<Token> before = {})
        : tokenizer_(std::move(tokenizer)), begins_(!before || tokenizer_.begins_after(*before)) {}

    /// The text that this id completes, often empty. Ids without a token (rows that pad a model's embedding) have none.
    [[nodiscard]] std::string push(Token id) {
        const bool begins = std::exchange(begins_, tokenizer_.begins_after(id));
        if (id >= tokenizer_.vocab_size() || tokenizer_.is_special(id)) return {};
        return stream_.push(tokenizer_.piece(id, begins));
    }
    /// What is left when no more ids come: U+FFFD for an incomplete character, or nothing.
    [[nodiscard]] std::string finish() { return stream_.finish(); }

  private:
    Tokenizer tokenizer_;
    Utf8Stream stream_;
    bool begins_;
};

}  // namespace l3::inline v0
