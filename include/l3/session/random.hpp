#pragma once
#include "../core/config.hpp"
#include <cstdint>
#include <random>

namespace l3::inline v0 {

/// The library's random numbers: a function of (seed, index) without state, the same on every compiler and device.
/// Philox4x32-10, the seed as its key and the index as its counter, so every 64-bit seed is as good as any other.
/// Source: Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3".
struct Philox {
    struct Block {
        std::uint32_t words[4];
        friend constexpr bool operator==(const Block&, const Block&) = default;
    };

    [[nodiscard]] static constexpr Block block(std::uint64_t key, const Block& counter) {
        auto k0 = std::uint32_t(key), k1 = std::uint32_t(key >> 32);
        Block c = counter;
        for (int round = 0; round < 10; ++round) {
            const std::uint64_t a = std::uint64_t{0xD2511F53u} * c.words[0],
                                b = std::uint64_t{0xCD9E8D57u} * c.words[2];
            c = {{std::uint32_t(b >> 32) ^ c.words[1] ^ k0, std::uint32_t(b), std::uint32_t(a >> 32) ^ c.words[3] ^ k1,
                  std::uint32_t(a)}};
            k0 += 0x9E3779B9u;
            k1 += 0xBB67AE85u;
        }
        return c;
    }
};

/// A number in [0, 1), uniform in steps of 2^-53.
[[nodiscard]] constexpr double uniform(std::uint64_t seed, std::uint64_t index) {
    const Philox::Block r = Philox::block(seed, {{std::uint32_t(index), std::uint32_t(index >> 32), 0, 0}});
    return double(((std::uint64_t{r.words[1]} << 32) | r.words[0]) >> 11) * 0x1p-53;
}

/// A seed nobody chose: from the system's entropy.
[[nodiscard]] inline std::uint64_t random_seed() {
    std::random_device entropy;
    const std::uint64_t high = entropy();
    return (high << 32) | entropy();
}

}  // namespace l3::inline v0
