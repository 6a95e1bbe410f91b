#pragma once
#include "../tokenizer/text_stream.hpp"
#include "sampler.hpp"
#include "session.hpp"
#include "stop_strings.hpp"
#include <chrono>
#include <cstddef>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>

namespace l3::inline v0 {

/// What is generated, and where it ends.
struct GenerateOptions {
    std::optional<Index> max_tokens{};  // default: as many as the context holds
    SamplingOptions sampling{};         // what is not set is what the model's generation_config says
    std::vector<std::string> stop{};    // texts that end it and are not shown; a control token's text means that token
    std::vector<Token> end_ids{};       // that end it, besides the model's
    bool ignore_eos = false;            // end ids are tokens like others
    std::stop_token stop_token{};       // ends it within one layer, in the prompt too
};

/// What was generated so far.
struct GenerateResult {
    Index prompt_tokens = 0;     // before the first generated one: reused + evaluated, unless cancelled among them
    Index reused_tokens = 0;     // of the prompt, those that were in the session
    Index evaluated_tokens = 0;  // of the prompt
    Index generated_tokens = 0;  // the one that ended it included
    /// "stop": an end id or a stop string; "length": max_tokens or the context; "cancelled": left or stopped before its
    /// end, or not there yet.
    std::string finish_reason = "cancelled";
    std::uint64_t seed = 0;                // gives the same again
    double prefill_ms = 0, decode_ms = 0;  // of the prompt and the first token; of the others
    std::vector<Token> ids{};              // generated
    std::string text{};                    // of all pieces
};

/// Text being generated: a single-pass range of pieces, std::string_view of whole UTF-8 characters, never empty, each
/// valid until the next. Work is done while the range is stepped through, the prompt at the first step. Leaving the
/// loop keeps what was produced; another loop goes on. An exception ends it, also keeping what was produced, and leaves
/// the session usable. The session must stay where it is until the last step, and not be used meanwhile.
///
/// Control tokens have no text. Prompt and generated tokens together never exceed the context; the last token is not
/// evaluated, so that it is the session's only when it is followed by another.
template <class M>
class Generation {
    struct State;

  public:
    class iterator {
      public:
        using value_type = std::string_view;
        using difference_type = std::ptrdiff_t;
        using iterator_concept = std::input_iterator_tag;

        iterator() = default;
        std::string_view operator*() const { return state_->piece; }
        iterator& operator++() {
            if (!state_->step()) state_ = nullptr;
            return *this;
        }
        void operator++(int) { ++*this; }
        friend bool operator==(const iterator& it, std::default_sentinel_t) { return it.state_ == nullptr; }

      private:
        friend class Generation;
        explicit iterator(State* state) : state_(state) { ++*this; }
        State* state_ = nullptr;
    };

    /// Made by generate() and by Chat. begins_text: what is generated is a text of its own, not the rest of the
    /// prompt's.
    Generation(std::shared_ptr<Session<M>> session, std::vector<Token> prompt, GenerateOptions options,
               bool begins_text = false)
        : state_(std::make_shared<State>(std::move(session), std::move(prompt), std::move(options), begins_text)) {}
    Generation(Generation&&) noexcept = default;
    Generation& operator=(Generation&&) noexcept = default;

    /// Goes to the next piece: a second loop goes on where the first was left.
    [[nodiscard]] iterator begin() { return iterator(state_.get()); }
    [[nodiscard]] std::default_sentinel_t end() const { return {}; }

    /// What was generated so far.
    [[nodiscard]] const GenerateResult& result() const { return state_->result; }
    /// Generates to the end.
    const GenerateResult& run() {
        while (state_->step()) {}
        return state_->result;
    }

  private:
    template <class>
    friend class Chat;

    struct State {
        State(std::shared_ptr<Session<M>> s, std::vector<Token> prompt, GenerateOptions o, bool begins_text);
        /// Goes on until `piece` has text: false at the end.
        bool step();
        void advance();
        std::span<const f32> next_logits();
        void finish(const char* reason);
        void show(std::string text);
        [[nodiscard]] std::vector<Token> kept() const;

        std::shared_ptr<Session<M>> session;
        std::vector<Token> ids;  // the prompt and what follows
        GenerateOptions options;
        Sampler sampler;
        std::vector<Token> end_ids;
        std::optional<TextStream> stream;  // none without a tokenizer
        StopStrings stops;
        Index most = 0;             // tokens to generate
        std::uint64_t changes = 0;  // of the session, as this left it
        bool started = false, finished = false;
        std::string piece;
        std::string shown;                    // all text so far, what is held back for stop strings included
        std::vector<std::size_t> shown_ends;  // its length after each token
        GenerateResult result;
    };

    std::shared_ptr<State> state_;
};

/// Goes on after these ids. Throws, before any work, ContextFullError if they exceed the session's context, and
/// ArgumentError for no ids or options that cannot be meant.
template <class M>
[[nodiscard]] Generation<M> generate(Session<M>& session, std::span<const Token> prompt, GenerateOptions options = {}) {
    return {std::shared_ptr<Session<M>>(std::shared_ptr<void>(), &session),
            {prompt.begin(), prompt.end()},
            std::move(options)};
}

/// Goes on after this text, which begins with the start token if the tokenizer says so; special tokens in it are text.
template <class M>
[[nodiscard]] Generation<M> generate(Session<M>& session, std::string_view prompt, GenerateOptions options = {}) {
    const auto& tokenizer = session.model().tokenizer();
    return generate(session, tokenizer.encode(prompt, {.add_bos = tokenizer.add_bos()}), std::move(options));
}

template <class M>
Generation<M>::State::State(std::shared_ptr<Session<M>> s, std::vector<Token> prompt, GenerateOptions o,
                            bool begins_text)
    : session(std::move(s)), ids(std::move(prompt)), options(std::move(o)),
      sampler(with_defaults(std::move(options.sampling), session->model().generation_config())) {
    const M& model = session->model();
    const auto n = Index(ids.size());
    require<ArgumentError>(n > 0, "nothing to go on from: the prompt has no tokens");
    require<ContextFullError>(n <= session->context(), "a prompt of ", n, " tokens does not fit the context of ",
                              session->context());
    const Index wanted = options.max_tokens.value_or(session->context());
    require<ArgumentError>(wanted >= 0, "max_tokens is ", wanted, ", expected 0 or more");
    most = std::min(wanted, session->context() - n);

    if (!options.ignore_eos) {
        end_ids.assign(model.end_ids().begin(), model.end_ids().end());
        end_ids.insert(end_ids.end(), options.end_ids.begin(), options.end_ids.end());
    }
    stops = StopStrings(options.stop);
    if (model.has_tokenizer()) {
        stream.emplace(model.tokenizer(), begins_text ? std::nullopt : std::optional(ids.back()));
        for (const std::string& stop : options.stop)
            if (const auto id = model.tokenizer().token_id(stop); id && model.tokenizer().is_special(*id))
                end_ids.push_back(*id);
    } else {
        require<ArgumentError>(options.stop.empty(), "stop strings need a tokenizer");
    }
    result.prompt_tokens = n;
    result.seed = sampler.seed();
    changes = session->changes();
}

template <class M>
bool Generation<M>::State::step() {
    piece.clear();
    try {
        while (piece.empty() && !finished) advance();
    } catch (...) {
        if (!finished) finish("cancelled");
        throw;
    }
    return !piece.empty();
}

template <class M>
void Generation<M>::State::advance() {
    if (options.stop_token.stop_requested()) return finish("cancelled");
    require<ArgumentError>(!started || changes == session->changes(),
                           "the session was used while a text was being generated on it");
    const auto start = std::chrono::steady_clock::now();
    const bool prompt = !started;
    started = true;
    const auto count_time = [&] {
        (prompt ? result.prefill_ms : result.decode_ms) +=
            std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    };
    try {
        const std::span<const f32> logits = next_logits();
        if (result.generated_tokens == most) return count_time(), finish("length");
        const Token token = sampler.sample(logits, ids, result.generated_tokens);
        ids.push_back(token);
        result.ids.push_back(token);
        ++result.generated_tokens;
        count_time();

        if (std::find(end_ids.begin(), end_ids.end(), token) != end_ids.end()) return finish("stop");
        if (stream) show(stream->push(token));
        shown_ends.push_back(shown.size());
        if (!finished && result.generated_tokens == most) finish("length");
    } catch (const CancelledError&) {
        if (!options.stop_token.stop_requested()) throw;  // a callback's own
        count_time();
        finish("cancelled");
    }
}

template <class M>
std::span<const f32> Generation<M>::State::next_logits() {
    if (result.generated_tokens > 0) {
        const std::span<const f32> logits = session->decode(ids.back(), options.stop_token);
        changes = session->changes();
        return logits;
    }
    result.reused_tokens = session->reusable(ids);
    try {
        const std::span<const f32> logits = session->sync(ids, options.stop_token).logits;
        result.evaluated_tokens = result.prompt_tokens - result.reused_tokens;
        changes = session->changes();
        return logits;
    } catch (...) {
        result.evaluated_tokens = std::max<Index>(0, session->size() - result.reused_tokens);
        throw;
    }
}

/// Shows text as far as it cannot belong to a stop string.
template <class M>
void Generation<M>::State::show(std::string text) {
    shown += text;
    const std::size_t before = piece.size();
    const bool stop = stops.push(text, piece);
    result.text.append(piece, before);
    if (stop) {
        finished = true;
        result.finish_reason = "stop";
    }
}

/// Ends it, and shows what was held back.
template <class M>
void Generation<M>::State::finish(const char* reason) {
    finished = true;
    result.finish_reason = reason;
    if (!stream) return;
    show(stream->finish());
    if (result.finish_reason != reason) return;  // its last character completed a stop string
    const std::string held = stops.finish();
    piece += held;
    result.text += held;
}

/// The ids of result.text: those generated, without the one that ended it and what a stop string cut away. Where the
/// cut is within a token, what is left of it is encoded.
template <class M>
std::vector<Token> Generation<M>::State::kept() const {
    std::vector<Token> kept(result.ids.begin(), result.ids.begin() + std::ptrdiff_t(shown_ends.size()));
    const std::size_t cut = result.text.size();
    if (!stream || cut >= shown.size()) return kept;
    const auto past = std::upper_bound(shown_ends.begin(), shown_ends.end(), cut);
    const std::size_t whole = past == shown_ends.begin() ? 0 : past[-1];
    // The first token that gets as far: others behind it only began a character that is cut away.
    const auto last = std::lower_bound(shown_ends.begin(), shown_ends.end(), whole);
    kept.resize(whole == 0 ? 0 : std::size_t(last - shown_ends.begin()) + 1);
    const std::string_view rest = std::string_view(shown).substr(whole, cut - whole);
    const std::vector<Token> more = session->model().tokenizer().encode(rest, {.add_prefix = false});
    kept.insert(kept.end(), more.begin(), more.end());
    return kept;
}

}  // namespace l3::inline v0
