#pragma once
#include "llama.hpp"
#include <cstring>
#include <memory>
#include <stop_token>

namespace l3::inline v0 {

/// One sequence of tokens on a model: ids in, logits out. Keeps the model alive. One caller at a time; any number of
/// sequences of one model may be used from any threads.
template <DType T, Device D>
class Sequence {
  public:
    /// Made by Model::new_sequence. Throws ArgumentError for a capacity below 1, OutOfMemoryError.
    Sequence(std::shared_ptr<const LlamaConfig> config, std::shared_ptr<const LlamaWeights<T, D>> weights,
             Context<D> context, Index capacity)
        : config_(std::move(config)), weights_(std::move(weights)), context_(std::move(context)),
          cache_(*config_, capacity) {}

    /// Tokens evaluated so far, and how many there can be.
    [[nodiscard]] Index size() const { return cache_.size(); }
    [[nodiscard]] Index capacity() const { return cache_.capacity(); }

    /// Evaluates tokens that follow those evaluated before. Afterwards logits(i) are those of the token at
    /// rows_with_logits[i], counted within this call. Any split of a prompt into calls gives the same bits.
    /// Throws, before any work, ArgumentError for a token outside of the vocabulary or a row outside of the call, and
    /// ContextFullError; then CancelledError within one layer of a stop request, OutOfMemoryError. After any
    /// exception size() is what it was before.
    void evaluate(std::span<const Token> tokens, std::span<const int> rows_with_logits, std::stop_token stop = {}) {
        for (Token token : tokens)
            require<ArgumentError>(0 <= token && token < config_->vocab_size, "token id ", token,
                                   " is outside of the vocabulary: ids are from 0 to below vocab_size ",
                                   config_->vocab_size);
        for (int row : rows_with_logits)
            require<ArgumentError>(0 <= row && row < Index(tokens.size()), "logits of row ", row, " of ", tokens.size(),
                                   " tokens were asked for");
        cache_.require_room(Index(tokens.size()));
        rows_ = 0;
        if (tokens.empty()) return;
        const Index before = size();
        context_.set_stop_token(std::move(stop));
        try {
            forward<T, D>(context_, *config_, *weights_, cache_, activations_, tokens, rows_with_logits);
        } catch (...) {
            context_.set_stop_token({});
            cache_.truncate(before);
            throw;
        }
        context_.set_stop_token({});
        rows_ = Index(rows_with_logits.size());
    }

    /// The logits of the i-th row asked for in the last call of evaluate(): [V], f32; until the next call.
    /// Throws ArgumentError if there is no such row.
    [[nodiscard]] std::span<const f32> logits(int i) const
        requires std::same_as<D, CPU>
    {
        require<ArgumentError>(0 <= i && i < rows_, "logits of row ", i, " of ", rows_, " that were evaluated");
        return {activations_.logits.row(i), std::size_t(config_->vocab_size)};
    }

    /// Forgets the tokens from n on. Throws ArgumentError unless 0 <= n <= size(). Costs nothing.
    void truncate(Index n) { cache_.truncate(n); }

    /// A copy that goes its own way, with the logits of the last call. Throws OutOfMemoryError.
    [[nodiscard]] Sequence clone() const
        requires std::same_as<D, CPU>
    {
        Sequence copy(config_, weights_, Context<D>(context_.executor()), cache_.clone());
        if (rows_ > 0) {
            copy.activations_.prepare(*config_, 0, rows_);
            std::memcpy(copy.activations_.logits.data(), activations_.logits.data(), activations_.logits.nbytes());
            copy.rows_ = rows_;
        }
        return copy;
    }

  private:
    Sequence(std::shared_ptr<const LlamaConfig> config, std::shared_ptr<const LlamaWeights<T, D>> weights,
             Context<D> context, KVCache<T, D> cache)
        : config_(std::move(config)),
          weights_(std::move(weights)),
          context_(std::move(context)),
          cache_(std::move(cache)) {}

    std::shared_ptr<const LlamaConfig> config_;
    std::shared_ptr<const LlamaWeights<T, D>> weights_;
    Context<D> context_;
    KVCache<T, D> cache_;
    Activations<T, D> activations_;
    Index rows_ = 0;  // of logits
};

}  // namespace l3::inline v0
