#pragma once
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "../dtype/bf16.hpp"
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace l3::inline v0 {

/// How tokens are chosen. What is not set is what the model's generation_config says, or else off.
///
/// The order, which is that of transformers, whose values generation_config.json holds:
///  1. on_logits may change anything;
///  2. penalties: repetition over all ids so far, frequency and presence over the generated ones;
///  3. temperature 0: the largest logit, the lowest id among equals, and nothing below matters. Otherwise
///     p = softmax(logits / temperature), tokens sorted by logit descending, then id ascending;
///  4. top_k: the first k of them;
///  5. top_p: of those, the smallest front whose share of their sum reaches top_p, at least one;
///  6. min_p: of those, the ones with p >= min_p * the largest p;
///  7. one of those left, with probability proportional to p.
struct SamplingOptions {
    std::optional<double> temperature{};         // 0: greedy
    std::optional<int> top_k{};                  // 0 and below, or at least the vocabulary: off
    std::optional<double> top_p{};               // 1 and above: off
    std::optional<double> min_p{};               // 0: off
    std::optional<double> repetition_penalty{};  // 1: off. logit > 0 ? logit / r : logit * r, once for each token seen
    std::optional<double> frequency_penalty{};   // 0: off. logit - count * f
    std::optional<double> presence_penalty{};    // 0: off. logit - p, for each token generated at least once
    std::optional<std::uint64_t> seed{};         // any value; not set: a random one, see Sampler::seed

    /// Sees the logits [V] of the next token and all ids before it, and may change the logits: -inf forbids a token.
    /// What it throws leaves the sampler as it was.
    std::function<void(std::span<f32> logits, std::span<const Token> ids)> on_logits{};
};

/// Throws ArgumentError, naming the option and its value, for what cannot be meant.
inline void check_sampling(const SamplingOptions& o) {
    const auto check = [](const char* name, const std::optional<double>& value, bool good, const char* expected) {
        require<ArgumentError>(good, name, " is ", value.value_or(0), ", expected ", expected);
    };
    const auto at_least_0 = [](const std::optional<double>& v) { return !v || (*v >= 0 && std::isfinite(*v)); };
    check("temperature", o.temperature, at_least_0(o.temperature), "0 (greedy) or more");
    check("top_p", o.top_p, at_least_0(o.top_p), "0 or more (1: off)");
    check("min_p", o.min_p, at_least_0(o.min_p) && o.min_p.value_or(0) <= 1, "0 to 1");
    check("repetition_penalty", o.repetition_penalty, at_least_0(o.repetition_penalty) && o.repetition_penalty != 0.0,
          "more than 0");
    check("frequency_penalty", o.frequency_penalty, std::isfinite(o.frequency_penalty.value_or(0)), "a number");
    check("presence_penalty", o.presence_penalty, std::isfinite(o.presence_penalty.value_or(0)), "a number");
}

/// These options, and where they say nothing the model's generation_config. A config that does not sample is greedy.
template <class Config>
[[nodiscard]] SamplingOptions with_defaults(SamplingOptions o, const Config& config) {
    if (!o.temperature) o.temperature = config.do_sample ? double(config.temperature.value_or(1)) : 0;
    if (!o.top_k) o.top_k = config.top_k;
    if (!o.top_p && config.top_p) o.top_p = *config.top_p;
    if (!o.min_p && config.min_p) o.min_p = *config.min_p;
    if (!o.repetition_penalty && config.repetition_penalty) o.repetition_penalty = *config.repetition_penalty;
    return o;
}

}  // namespace l3::inline v0
