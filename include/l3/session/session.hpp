#pragma once
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "../dtype/bf16.hpp"
#include <algorithm>
#include <optional>
#include <span>
#include <stop_token>
#include <utility>
#include <vector>

namespace l3::inline v0 {

struct SessionOptions {
    std::optional<Index> context{};  // tokens; default: the smaller of 4096 and the model's max_position_embeddings
    Index chunk = 512;               // tokens of a prompt evaluated at once; the bits do not depend on it
};

/// What Session::sync did.
struct SyncResult {
    std::span<const f32> logits{};  // [V], of the last token; until the session changes
    Index reused = 0;               // tokens that were there
    Index evaluated = 0;            // tokens evaluated now
};

/// One sequence of tokens on a model, ids in, logits out: M is Model<T, D> or AnyModel. Remembers the ids that its
/// cache holds, so that whatever a next text shares with them is not evaluated again. Keeps the model alive. One caller
/// at a time; any number of sessions of one model from any threads. Every logits span [V] f32 is valid until the
/// session changes. Every call that may be long takes a std::stop_token and throws CancelledError within one layer of a
/// request to stop.
template <class M>
class Session {
  public:
    /// Throws ArgumentError for a context below 1 or beyond the model's max_position_embeddings, OutOfMemoryError.
    explicit Session(M model, const SessionOptions& options = {})
        : Session(std::move(model), options, [](const M& m, Index context) { return m.new_sequence(context); }) {}

    [[nodiscard]] const M& model() const { return model_; }
    /// The ids evaluated so far.
    [[nodiscard]] std::span<const Token> ids() const { return ids_; }
    [[nodiscard]] Index size() const { return Index(ids_.size()); }
    /// How many tokens there can be.
    [[nodiscard]] Index context() const { return sequence_.capacity(); }
    /// Whether logits() has those of the last token: they were asked for, and it is still the last.
    [[nodiscard]] bool has_logits() const { return row_ >= 0; }
    /// Throws ArgumentError unless has_logits().
    [[nodiscard]] std::span<const f32> logits() const {
        require<ArgumentError>(has_logits(), "the logits of the last token are not there: evaluate it again");
        return sequence_.logits(row_);
    }

    /// Evaluates tokens that follow, in chunks, and returns the logits of the last one.
    /// Throws, before any work, ContextFullError naming both numbers, and ArgumentError for no tokens or one that is
    /// none; then CancelledError, OutOfMemoryError. After any exception ids() is what it was before.
    std::span<const f32> prefill(std::span<const Token> tokens, std::stop_token stop = {}) {
        require<ArgumentError>(!tokens.empty(), "prefill with no tokens");
        const Index last = size() + Index(tokens.size()) - 1;
        prefill(
            tokens, std::span(&last, 1), [](Index, std::span<const f32>) {}, std::move(stop));
        return logits();
    }

    /// Evaluates tokens that follow, and calls f(position, logits [V]) for these positions of theirs: ascending,
    /// counted from the start of the session. Throws as prefill, ArgumentError for other positions, and what f throws;
    /// after any exception ids() is what it was before.
    template <class F>
    void prefill(std::span<const Token> tokens, std::span<const Index> positions, const F& f,
                 std::stop_token stop = {}) {
        check(tokens);
        for (std::size_t i = 0; i < positions.size(); ++i)
            require<ArgumentError>(
                positions[i] >= (i ? positions[i - 1] + 1 : size()) && positions[i] < size() + Index(tokens.size()),
                "logits of position ", positions[i], ": the new tokens are at ", size(), " to ",
                size() + Index(tokens.size()) - 1, ", and positions ascend");
        const Index before = size();
        try {
            append(tokens, positions, f, stop);
        } catch (...) {
            truncate(before);
            row_ = -1;
            throw;
        }
    }

    /// Evaluates one token that follows, and returns its logits. Throws as prefill.
    std::span<const f32> decode(Token token, std::stop_token stop = {}) {
        return prefill(std::span(&token, 1), std::move(stop));
    }

    /// How many of these ids sync() would not evaluate: the longest common prefix with ids(), without the last of these
    /// ids unless its logits are still there.
    [[nodiscard]] Index reusable(std::span<const Token> wanted) const {
        const auto n =
            Index(std::mismatch(wanted.begin(), wanted.end(), ids_.begin(), ids_.end()).first - wanted.begin());
        const bool last_is_missing = n > 0 && n == Index(wanted.size()) && !(n == size() && has_logits());
        return n - (last_is_missing ? 1 : 0);
    }

    /// Makes these ids the session's: keeps what is reusable, forgets what follows, evaluates the rest in chunks.
    /// Throws as prefill, before any work changing nothing; afterwards ids() is a front of these ids, so that the next
    /// sync goes on where this one was stopped.
    SyncResult sync(std::span<const Token> wanted, std::stop_token stop = {}) {
        check_ids(wanted, 0);
        const Index reused = reusable(wanted), total = Index(wanted.size());
        if (reused < size()) truncate(reused);
        if (reused < total) {
            const Index last = total - 1;
            append(
                wanted.subspan(std::size_t(reused)), std::span(&last, 1), [](Index, std::span<const f32>) {}, stop);
        }
        return {total ? logits() : std::span<const f32>(), reused, total - reused};
    }

    /// Forgets the tokens from n on. Throws ArgumentError unless 0 <= n <= size(). Costs nothing.
    void truncate(Index n) {
        const bool all = n == size();
        sequence_.truncate(n);
        ids_.resize(std::size_t(n));
        if (!all) row_ = -1;
        ++changes_;
    }

    /// A session that goes its own way from here, with a copy of the cache. Throws OutOfMemoryError.
    [[nodiscard]] Session fork() const {
        Session copy(model_, {context(), chunk_}, [this](const M&, Index) { return sequence_.clone(); });
        copy.ids_.assign(ids_.begin(), ids_.end());
        copy.row_ = row_;
        return copy;
    }

    /// Counts the changes so far: two equal counts, and nothing happened in between.
    [[nodiscard]] std::uint64_t changes() const { return changes_; }

  private:
    using Sequence = typename M::Sequence;

    template <class MakeSequence>
    Session(M model, const SessionOptions& options, const MakeSequence& make)
        : model_(std::move(model)), chunk_(options.chunk), sequence_(make(model_, checked_context(model_, options))) {
        ids_.reserve(std::size_t(context()));  // so that nothing can fail once tokens are evaluated
    }

    static Index checked_context(const M& model, const SessionOptions& options) {
        const Index most = model.config().max_position_embeddings;
        const Index context = options.context.value_or(std::min<Index>(4096, most));
        require<ArgumentError>(context >= 1 && context <= most, "a context of ", context,
                               " tokens, expected 1 to the model's max_position_embeddings, ", most);
        require<ArgumentError>(options.chunk >= 1, "prefill chunks of ", options.chunk, " tokens");
        return context;
    }

    void check_ids(std::span<const Token> tokens, Index before) const {
        const Index total = before + Index(tokens.size());
        require<ContextFullError>(total <= context(), total, " tokens do not fit the context of ", context());
        const Index vocabulary = model_.config().vocab_size;
        for (std::size_t i = 0; i < tokens.size(); ++i)
            require<ArgumentError>(0 <= tokens[i] && tokens[i] < vocabulary, "token id ", tokens[i], " at position ",
                                   before + Index(i), ": expected ids below ", vocabulary);
    }
    void check(std::span<const Token> tokens) const { check_ids(tokens, size()); }

    /// Evaluates in chunks: at most chunk_ tokens, and no more rows of logits than a few MB hold. What was evaluated
    /// stays when a later chunk throws.
    template <class F>
    void append(std::span<const Token> tokens, std::span<const Index> positions, const F& f,
                const std::stop_token& stop) {
        const auto most_rows = std::size_t(std::max<Index>(1, (Index{16} << 20) / model_.config().vocab_size));
        while (!tokens.empty()) {
            Index n = std::min(chunk_, Index(tokens.size()));
            std::vector<int> rows;
            for (const Index position : positions) {
                if (position >= size() + n) break;
                if (rows.size() == most_rows) {
                    n = position - size();
                    break;
                }
                rows.push_back(int(position - size()));
            }
            row_ = -1;
            ++changes_;
            sequence_.evaluate(tokens.first(std::size_t(n)), rows, stop);
            const Index first = size();
            ids_.insert(ids_.end(), tokens.begin(), tokens.begin() + n);
            if (!rows.empty() && rows.back() == n - 1) row_ = int(rows.size()) - 1;
            for (std::size_t i = 0; i < rows.size(); ++i) f(first + rows[i], sequence_.logits(int(i)));
            tokens = tokens.subspan(std::size_t(n));
            positions = positions.subspan(rows.size());
        }
    }

    M model_;
    Index chunk_;
    Sequence sequence_;
    std::vector<Token> ids_;
    int row_ = -1;  // of the sequence's logits: the last token's, if it was asked for
    std::uint64_t changes_ = 0;
};

}  // namespace l3::inline v0
