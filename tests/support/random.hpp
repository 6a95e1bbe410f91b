#pragma once
// Deterministic random data for tests: tensors at chosen alignments, token ids, and the lengths worth trying.
#include <cstdint>
#include <cstring>
#include <l3/tensor/view.hpp>
#include <memory>
#include <new>
#include <source_location>
#include <string_view>
#include <type_traits>
#include <vector>

namespace support {

using l3::bf16;
using l3::CPU;
using l3::f32;
using l3::Index;
using l3::Shape;
using l3::TensorView;
using l3::Token;

/// The generator that tests/reference/golden.py repeats: element i of stream s is
/// mix(s + (i + 1) * 0x9E3779B97F4A7C15), mix being the finaliser of splitmix64.
struct Random {
    std::uint64_t stream = 0;
    std::uint64_t i = 0;

    static constexpr std::uint64_t mix(std::uint64_t z) {
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
        return z ^ (z >> 31);
    }
    constexpr std::uint64_t next() { return mix(stream + ++i * 0x9E3779B97F4A7C15u); }
    /// In [-1, 1), a multiple of 2^-23: exact in f32.
    constexpr double uniform() { return double(std::int64_t(next() >> 40) - (std::int64_t{1} << 23)) * 0x1p-23; }
    /// In [0, n).
    constexpr std::int64_t below(std::int64_t n) { return std::int64_t((next() >> 33) % std::uint64_t(n)); }
};

/// FNV-1a, so that every named tensor has its own stream.
constexpr std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0xCBF29CE484222325u;
    for (char c : text) h = (h ^ std::uint64_t(static_cast<unsigned char>(c))) * 0x100000001B3u;
    return h;
}

inline std::uint32_t bits_of(float x) {
    std::uint32_t u;
    std::memcpy(&u, &x, sizeof u);
    return u;
}
inline float float_of(std::uint32_t u) {
    float x;
    std::memcpy(&x, &u, sizeof x);
    return x;
}

/// f32 to bf16, to nearest even, written apart from the library: for finite numbers.
inline std::uint16_t bf16_bits(float x) {
    const std::uint32_t u = bits_of(x);
    const std::uint32_t kept = u >> 16, rest = u & 0xFFFFu;
    return std::uint16_t(kept + (rest > 0x8000u || (rest == 0x8000u && (kept & 1u)) ? 1u : 0u));
}

/// x as a T.
template <class T>
T rounded_to(double x) {
    if constexpr (std::is_same_v<T, bf16>) return bf16::from_bits(bf16_bits(float(x)));
    else return T(x);
}

/// Where a tensor starts, in bytes after a multiple of 64.
struct Alignment { std::size_t offset_bytes; };
inline constexpr Alignment aligned{0};
/// At a multiple of 4 bytes that is no multiple of 8, so that no SIMD load finds what it hopes for.
inline constexpr Alignment misaligned{4};

/// A tensor that owns exactly its bytes (a read past the end is seen by the address sanitizer), at a chosen alignment.
template <class T>
class TestTensor : public TensorView<T, CPU> {
  public:
    TestTensor() = default;
    explicit TestTensor(const Shape& shape, Alignment alignment = aligned)
        : TestTensor(allocate(std::size_t(shape.numel()) * sizeof(T) + alignment.offset_bytes), shape, alignment) {}

    [[nodiscard]] TestTensor clone() const {
        TestTensor copy(this->shape(), alignment_);
        if (this->numel() > 0) std::memcpy(copy.data(), this->data(), std::size_t(this->numel()) * sizeof(T));
        return copy;
    }

  private:
    struct Free {
        void operator()(std::byte* p) const { ::operator delete(p, std::align_val_t{64}); }
    };
    using Memory = std::unique_ptr<std::byte, Free>;

    static Memory allocate(std::size_t bytes) {
        Memory memory(static_cast<std::byte*>(::operator new(bytes, std::align_val_t{64})));
        std::memset(memory.get(), 0, bytes);
        return memory;
    }
    TestTensor(Memory memory, const Shape& shape, Alignment alignment)
        : TensorView<T, CPU>(reinterpret_cast<T*>(memory.get() + alignment.offset_bytes), shape),
          memory_(std::move(memory)),
          alignment_(alignment) {}

    Memory memory_;
    Alignment alignment_{0};
};

/// Values in [-scale, scale), rounded to T. The numbers depend on the place of the call and the shape only, not on what
/// ran before; calls in a loop that must differ pass a seed.
template <class T>
TestTensor<T> random(const Shape& shape, Alignment alignment = aligned, double scale = 1, std::uint64_t seed = 0,
                     std::source_location here = std::source_location::current()) {
    TestTensor<T> tensor(shape, alignment);
    Random random{Random::mix(seed + (std::uint64_t{here.line()} << 40) + (std::uint64_t{here.column()} << 24)) +
                  std::uint64_t(shape.rows()) * 1000003u + std::uint64_t(shape.cols())};
    for (Index i = 0; i < shape.numel(); ++i) tensor.data()[i] = rounded_to<T>(random.uniform() * scale);
    return tensor;
}

/// Token ids in [0, vocab_size).
inline std::vector<Token> random_ids(Index count, Index vocab_size, std::uint64_t seed = 0) {
    Random random{Random::mix(seed + 77)};
    std::vector<Token> ids;
    for (Index i = 0; i < count; ++i) ids.push_back(Token(random.below(vocab_size)));
    return ids;
}

/// Lengths where loops over `width` elements inside chunks of `chunk` go wrong: around multiples of both.
inline std::vector<int> lengths_around(int width, int chunk) {
    return {1,         2,         width / 2 - 1, width / 2,         width / 2 + 1, width - 1,     width,
            width + 1, 2 * width, 3 * width + 5, chunk - 1,         chunk,         chunk + 1,     chunk + width,
            2 * chunk, 2 * chunk + width + 3};
}

/// How many elements differ in any bit (not as numbers: 0 is not -0, a NaN equals itself).
template <class A, class B>
Index different_bits(const A* a, const B* b, Index count) {
    static_assert(sizeof(A) == sizeof(B));
    Index n = 0;
    for (Index i = 0; i < count; ++i) n += std::memcmp(a + i, b + i, sizeof(A)) != 0;
    return n;
}
template <class A, class B>
Index different_bits(const A& a, const B& b) {  // containers and spans
    if (a.size() != b.size()) return Index(a.size() > b.size() ? a.size() : b.size());
    return different_bits(a.data(), b.data(), Index(a.size()));
}

}  // namespace support
