#pragma once
#include "../core/elementary.hpp"
#include "llama_config.hpp"
#include <numbers>

namespace l3::inline v0 {

/// The frequency of each pair of dimensions, in radians per position: [Dh/2], in double.
/// theta^(-2i/Dh), then scaled. linear: all divided by factor. llama3: wavelengths beyond original / low_freq_factor
/// divided by factor, those below original / high_freq_factor kept, a linear blend of both in between.
/// The library's own pow, and no sum that a compiler could contract: the same bits everywhere.
/// Source: Su et al. 2021; modeling_rope_utils.py in transformers.
inline std::vector<double> rope_inv_freq(const RopeParameters& rope, int head_dim) {
    std::vector<double> inv_freq(std::size_t(head_dim / 2));
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
        double f = 1 / elementary::pow(rope.rope_theta, 2 * double(i) / head_dim);
        switch (rope.rope_type) {
            case RopeType::unscaled: break;
            case RopeType::linear: f /= rope.factor; break;
            case RopeType::llama3: {
                const double turns = rope.original_max_position_embeddings / (2 * std::numbers::pi / f);
                const double share = (turns - rope.low_freq_factor) / (rope.high_freq_factor - rope.low_freq_factor);
                if (share <= 0) f /= rope.factor;
                else if (share < 1) f = std::fma(share, f, (1 - share) * f / rope.factor);
                break;
            }
        }
        inv_freq[i] = rope.divisors.empty() ? f : f / rope.divisors[i];
    }
    return inv_freq;
}

}  // namespace l3::inline v0
