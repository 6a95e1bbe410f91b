#pragma once
#include "../device/cpu/float_mode.hpp"
#include "sampling_options.hpp"
#include <vector>

namespace l3::inline v0 {

/// Applies the penalties of the options to logits [V]: repetition for every distinct id of `ids`, frequency and
/// presence for those among its last `generated`. Neutral values change no bit. Throws ArgumentError for ids outside of
/// [0, V).
inline void apply_penalties(const SamplingOptions& options, std::span<f32> logits, std::span<const Token> ids,
                            Index generated) {
    const double r = options.repetition_penalty.value_or(1);
    const double f = options.frequency_penalty.value_or(0), p = options.presence_penalty.value_or(0);
    const bool repetition = r != 1, others = f != 0 || p != 0;
    if (!repetition && !others) return;
    require<ArgumentError>(0 <= generated && generated <= Index(ids.size()), generated, " generated ids of ",
                           ids.size());

    std::vector<std::int32_t> counts(logits.size(), -1);  // of those generated; -1: not among the ids
    for (std::size_t i = 0; i < ids.size(); ++i) {
        require<ArgumentError>(ids[i] >= 0 && std::size_t(ids[i]) < logits.size(), "token id ", ids[i],
                               " in a vocabulary of ", logits.size());
        std::int32_t& count = counts[std::size_t(ids[i])];
        if (count < 0) count = 0;
        if (i >= ids.size() - std::size_t(generated)) ++count;
    }
    cpu::in_float_mode([&] {
        for (std::size_t i = 0; i < logits.size(); ++i) {
            if (counts[i] < 0) continue;
            double logit = double(logits[i]);
            if (repetition) logit = logit > 0 ? logit / r : logit * r;
            if (repetition) logits[i] = f32(logit);
            if (others && counts[i] > 0) logits[i] = f32(std::fma(-double(counts[i]), f, double(logits[i])) - p);
        }
    });
}

}  // namespace l3::inline v0
