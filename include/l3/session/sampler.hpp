#pragma once
#include "../core/elementary.hpp"
#include "penalties.hpp"
#include "random.hpp"
#include <algorithm>
#include <limits>

namespace l3::inline v0 {

/// Chooses tokens from logits, as SamplingOptions says. One sampler serves one text; the same seed and logits give the
/// same ids on every compiler and machine: own generator, own exp, sums in double and in one order.
/// Greedy and top_k cost one pass over the vocabulary; otherwise one exp a token, and sorting only as far as it
/// matters.
class Sampler {
  public:
    /// Throws ArgumentError for options that cannot be meant.
    explicit Sampler(SamplingOptions options = {}) : options_(std::move(options)) {
        check_sampling(options_);
        seed_ = options_.seed ? *options_.seed : random_seed();
        temperature_ = std::max(options_.temperature.value_or(0), 0.0);
        if (temperature_ > 0)
            temperature_ = std::max(temperature_, 1e-100);  // a subnormal would be zero in the float mode
        penalises_ = options_.repetition_penalty.value_or(1) != 1 || options_.frequency_penalty.value_or(0) != 0 ||
                     options_.presence_penalty.value_or(0) != 0;
    }

    [[nodiscard]] const SamplingOptions& options() const { return options_; }
    /// The seed in use: that of the options, or the random one that stands in for it.
    [[nodiscard]] std::uint64_t seed() const { return seed_; }

    /// The next token for logits [V], after `ids`, of which the last `generated` were generated; only on_logits and
    /// penalties look at them. The n-th call uses the n-th random number.
    /// Throws NumericError, naming the position and a count, if a logit is NaN or +inf or all are -inf (which forbids a
    /// token); ArgumentError for empty logits; and what on_logits throws. Then nothing has been drawn.
    [[nodiscard]] Token sample(std::span<const f32> logits, std::span<const Token> ids = {}, Index generated = 0) {
        require<ArgumentError>(!logits.empty(), "sampling from no logits");
        if (options_.on_logits || penalises_) {
            changed_.assign(logits.begin(), logits.end());
            if (options_.on_logits) options_.on_logits(changed_, ids);
            apply_penalties(options_, changed_, ids, generated);
            logits = changed_;
        }
        Token token = 0;
        cpu::in_float_mode([&] {
            token = largest(logits, Index(ids.size()));
            if (temperature_ > 0) token = draw(logits, logits[std::size_t(token)], uniform(seed_, drawn_));
        });
        ++drawn_;
        return token;
    }

  private:
    struct Candidate {
        f32 logit;
        Token id;
        friend bool operator<(const Candidate& a, const Candidate& b) {
            return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
        }
    };

    /// The lowest id of the largest logit.
    static Token largest(std::span<const f32> logits, Index position) {
        constexpr f32 inf = std::numeric_limits<f32>::infinity();
        f32 best = -inf;
        std::size_t at = logits.size(), bad = 0;
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if (!(logits[i] < inf)) [[unlikely]]
                ++bad;
            else if (logits[i] > best) best = logits[i], at = i;
        }
        require<NumericError>(bad == 0, "logits at position ", position, ": ", bad, " of ", logits.size(),
                              " are NaN or +inf");
        require<NumericError>(at < logits.size(), "logits at position ", position, ": all ", logits.size(),
                              " are -inf, no token can be chosen");
        return Token(at);
    }

    /// p of a token over the largest p. A function of its own: no sum around it can be contracted with its products.
    L3_NOINLINE double weight(f32 logit, f32 best) const {
        return elementary::exp((double(logit) - double(best)) / temperature_);
    }

    /// The token at u in [0, 1) of the distribution that the filters leave.
    Token draw(std::span<const f32> logits, f32 best, double u) {
        const int top_k = options_.top_k.value_or(0);
        const double top_p = options_.top_p.value_or(1), min_p = options_.min_p.value_or(0);

        // Where only min_p filters, what is surely below it need not be sorted; just what is decided by p below.
        const bool only_min_p = min_p > 0 && top_p >= 1 && top_k <= 0;
        const double surely = only_min_p ? (std::log(min_p) - 0.01) * temperature_ + double(best) : -HUGE_VAL;
        candidates_.clear();
        sorted_ = 0;
        for (std::size_t i = 0; i < logits.size(); ++i)
            if (double(logits[i]) > surely) candidates_.push_back({logits[i], Token(i)});

        const std::size_t n = candidates_.size();
        const std::size_t k = top_k > 0 ? std::min(n, std::size_t(top_k)) : n;
        if (k < n) sort_front(k);

        double mass = 0;  // of the first k
        if (top_p < 1 || min_p == 0)
            for (std::size_t i = 0; i < k; ++i) mass += weight(candidates_[i].logit, best);
        std::size_t kept = k;
        if (top_p < 1 || min_p > 0) {
            const double enough = top_p < 1 ? top_p * mass : std::numeric_limits<double>::infinity();
            mass = 0;
            for (kept = 0; kept < k && (kept == 0 || mass < enough); ++kept) {
                sort_front(kept + 1);
                const double p = weight(candidates_[kept].logit, best);
                if (p < min_p) break;
                mass += p;
            }
        }

        const double target = u * mass;
        double sum = 0;
        std::size_t last = 0;  // rounding can leave the target at or beyond the last sum
        for (std::size_t i = 0; i < kept; ++i) {
            sort_front(i + 1);
            const double p = weight(candidates_[i].logit, best);
            if (p == 0) break;
            sum += p;
            last = i;
            if (sum > target) break;
        }
        return candidates_[last].id;
    }

    /// Sorts the candidates at least as far as the first n: likely tokens are few, so rarely all of them.
    void sort_front(std::size_t n) {
        if (n <= sorted_) return;
        const std::size_t size = candidates_.size(),
                          front = std::min(size, std::max({n, 8 * sorted_, std::size_t{64}}));
        const auto at = [this](std::size_t i) { return candidates_.begin() + std::ptrdiff_t(i); };
        if (front <= 512) {
            std::partial_sort(at(sorted_), at(front), at(size));
        } else {
            if (front < size) std::nth_element(at(sorted_), at(front), at(size));
            std::sort(at(sorted_), at(front));
        }
        sorted_ = front;
    }

    SamplingOptions options_;
    std::uint64_t seed_ = 0, drawn_ = 0;
    double temperature_ = 0;
    bool penalises_ = false;
    std::vector<f32> changed_;           // [V]: the logits, where they are changed
    std::vector<Candidate> candidates_;  // the first sorted_ of them in order, the others after them
    std::size_t sorted_ = 0;
};

}  // namespace l3::inline v0
