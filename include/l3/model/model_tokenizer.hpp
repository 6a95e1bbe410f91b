#pragma once
#include "../tokenizer/tokenizer.hpp"
#include "checkpoint.hpp"
#include <mutex>

namespace l3::inline v0 {

/// The tokenizer of a model: found when the model is opened, read when somebody asks for it. Thread-safe.
class ModelTokenizer {
  public:
    /// given: the user's choice, or empty: inside the model's file, or beside it.
    ModelTokenizer(const Checkpoint& checkpoint, const std::filesystem::path& given)
        : model_(checkpoint.path.string()), rows_(checkpoint.config.vocab_size),
          inside_(given.empty() && checkpoint.has_tokenizer_inside) {
        std::error_code unreadable;
        const auto there = [&](const std::filesystem::path& p) { return std::filesystem::exists(p, unreadable); };
        const std::filesystem::path beside =
            checkpoint.format == CheckpointFormat::hugging_face ? checkpoint.path : checkpoint.path.parent_path();
        const bool has_bin = there(beside / "tokenizer.bin"), has_json = there(beside / "tokenizer.json");
        path_ = !given.empty()                                              ? given
                : inside_                                                   ? checkpoint.path
                : has_bin && checkpoint.format == CheckpointFormat::llama2c ? beside / "tokenizer.bin"
                                                                            : beside;
        found_ = !given.empty() || inside_ || has_bin || has_json;
        if (path_.empty()) path_ = ".";
    }

    /// True if there is a tokenizer, or the user named one.
    [[nodiscard]] bool found() const { return found_; }
    /// The file it is in, or the directory where it is looked for.
    [[nodiscard]] const std::filesystem::path& path() const { return path_; }

    /// Throws IoError listing what was looked for if there is none; what Tokenizer::load throws; and FormatError naming
    /// both numbers if it has more tokens than the model has embedding rows.
    [[nodiscard]] const Tokenizer& get() const {
        const std::scoped_lock lock(mutex_);
        if (!tokenizer_) {
            Tokenizer loaded = inside_ ? Tokenizer::from_gguf(io::open_gguf(path_)) : Tokenizer::load(path_);
            loaded.require_fits(rows_, model_);
            tokenizer_ = std::move(loaded);
        }
        return *tokenizer_;
    }

  private:
    std::string model_;
    Index rows_ = 0;
    bool inside_ = false;  // a GGUF file, whatever its name
    bool found_ = false;
    std::filesystem::path path_;
    mutable std::mutex mutex_;
    mutable std::optional<Tokenizer> tokenizer_;
};

}  // namespace l3::inline v0
