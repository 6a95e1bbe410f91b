#pragma once
// Damages bytes in reproducible ways: what a reader of files must survive.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>

namespace support {

/// A damaged copy: up to four bytes of the first `region` set, or flipped, or eight of them overwritten by a number
/// that hurts; sometimes cut short as well. The same for the same seed.
inline std::string mutate(std::string bytes, std::size_t region, std::uint64_t seed) {
    std::uint64_t state = seed * 0x9E3779B97F4A7C15u + 1;
    const auto next = [&state](std::uint64_t below) {  // xorshift64*, top bits
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        return (state * 0x2545F4914F6CDD1Du >> 16) % below;
    };
    region = std::min(region, bytes.size());
    for (std::uint64_t n = next(4) + (region ? 1 : 0); region != 0 && n-- > 0;) {
        const auto at = static_cast<std::size_t>(next(region));
        switch (next(4)) {
            case 0: bytes[at] = static_cast<char>(next(256)); break;
            case 1: bytes[at] = static_cast<char>(static_cast<unsigned char>(bytes[at]) ^ (1u << next(8))); break;
            case 2: bytes[at] = "\0\xFF\x7F\x80{}[]\",:-0e9 "[next(17)]; break;
            default: {
                constexpr std::uint64_t numbers[] = {0,          1,          ~0ull,      1ull << 63,
                                                     1ull << 62, 1ull << 32, 0xFFFFFFFF, 0x7FFFFFFF,
                                                     0x80000000, 1ull << 20, 33};
                const std::uint64_t number = numbers[next(std::size(numbers))];
                for (std::size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
                    bytes[at + i] = static_cast<char>(number >> 8 * i);
            }
        }
    }
    if (next(8) == 0) bytes.resize(static_cast<std::size_t>(next(bytes.size() + 1)));
    return bytes;
}

}  // namespace support
