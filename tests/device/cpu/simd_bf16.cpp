#include "support/architectures.hpp"
#include "support/random.hpp"
#include <bit>
#include <doctest/doctest.h>
#include <l3/device/cpu/context.hpp>
#include <l3/device/cpu/simd_bf16.hpp>

using namespace l3;

namespace {

/// Rounds the f32 with bits [begin, end) in registers; returns how many differ from the scalar conversion.
template <class A>
L3_NOINLINE Index different_roundings(std::uint64_t begin, std::uint64_t end) {
    constexpr int width = simd::width<A>;
    Index wrong = 0;
    for (std::uint64_t bits = begin; bits < end; bits += width) {
        f32 x[16];
        bf16 r[16];
        for (int i = 0; i < width; ++i) x[i] = std::bit_cast<f32>(std::uint32_t(bits + std::uint64_t(i)));
        simd::store<A>(r, simd::load<A>(x));
        for (int i = 0; i < width; ++i) wrong += r[i].bits != bf16(x[i]).bits;
    }
    return wrong;
}

}  // namespace

TEST_CASE_TEMPLATE("acceptance F01: rounding in registers is rounding in scalar code", A, L3_TEST_ARCHITECTURES) {
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    constexpr std::uint64_t stride = 1;  // all of them
#else
    constexpr std::uint64_t stride = 64;  // every 64th piece, in a build that is slow
#endif
    constexpr std::uint64_t piece = 1 << 16;
    Context<CPU> ctx;
    std::atomic<Index> wrong{0};
    ctx.parallel(Index((std::uint64_t{1} << 32) / piece / stride), 1, [&](Index begin, Index end, int) {
        for (; begin < end; ++begin) {
            const std::uint64_t first = std::uint64_t(begin) * piece * stride;
            wrong += different_roundings<A>(first, first + piece);
        }
    });
    CHECK(wrong == 0);
    // Around every border between exponents, and the ends of all pieces that the stride leaves out.
    Index more = 0;
    for (std::uint64_t upper = 0; upper < 0x10000; ++upper)
        for (std::uint64_t lower : {0x0u, 0x7FF0u, 0x8000u, 0xFFF0u}) more += different_roundings<A>(upper << 16 | lower, (upper << 16 | lower) + 16);
    CHECK(more == 0);
}

TEST_CASE_TEMPLATE("simd_bf16: widening is exact, at any address", A, L3_TEST_ARCHITECTURES) {
    constexpr int width = simd::width<A>;
    std::vector<bf16> all(0x10000 + 64);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = bf16::from_bits(std::uint16_t(i));
    int wrong = 0;
    for (std::size_t offset = 0; offset < 33; ++offset)
        for (std::size_t i = offset; i + 2 * width <= all.size(); i += width) {
            f32 wide[16], even[16], odd[16];
            simd::store<A>(wide, simd::load<A>(&all[i]));
            const auto words = simd::load_words<A>(&all[i]);
            simd::store<A>(even, simd::even<A>(words));
            simd::store<A>(odd, simd::odd<A>(words));
            for (std::size_t j = 0; j < std::size_t(width); ++j) {
                wrong += std::bit_cast<std::uint32_t>(wide[j]) != std::uint32_t{all[i + j].bits} << 16;
                wrong += std::bit_cast<std::uint32_t>(even[j]) != std::uint32_t{all[i + 2 * j].bits} << 16;
                wrong += std::bit_cast<std::uint32_t>(odd[j]) != std::uint32_t{all[i + 2 * j + 1].bits} << 16;
            }
        }
    CHECK(wrong == 0);
}

#if defined(__AVX512BF16__)
TEST_CASE("simd_bf16: the processor's vdpbf16ps is the emulated step, bit for bit") {
    support::Random random{5};
    Index wrong = 0;
    Context<CPU> ctx(1);
    ctx.serial([&] {
        for (int round = 0; round < 200000; ++round) {
            alignas(64) bf16 w[32], x[32], packed_native[32];
            alignas(64) f32 acc[16], packed[32];
            for (int i = 0; i < 32; ++i) {
                // Exponents over the whole range with round % 3 == 0: overflow, underflow, infinities, NaN and subnormals.
                const int low = round % 3 ? 100 : 0, span = round % 3 ? 50 : 256;
                const auto any = [&] {
                    return bf16::from_bits(std::uint16_t((random.below(2) << 15) | ((low + random.below(span)) << 7) | random.below(128)));
                };
                w[i] = any();
                x[i] = any();
            }
            for (f32& a : acc) a = f32(random.uniform() * 100);
            using Native = simd::Dot<bf16, arch::avx512bf16>;
            using Emulated = simd::Dot<bf16, arch::avx512>;
            simd::Grid<simd::F<arch::avx512>, 1, 1> a = {{simd::load<arch::avx512>(acc)}}, b = {{simd::load<arch::avx512>(acc)}};
            Native::pack(packed_native, x);
            Emulated::pack(packed, x);
            const bf16* const row[1] = {w};
            Native::accumulate<1, 1>(a, packed_native, row);
            Emulated::accumulate<1, 1>(b, packed, row);
            f32 ra[16], rb[16];
            simd::store<arch::avx512>(ra, a[0][0]);
            simd::store<arch::avx512>(rb, b[0][0]);
            for (int i = 0; i < 16; ++i)
                wrong += std::isnan(ra[i]) ? !std::isnan(rb[i]) : support::bits_of(ra[i]) != support::bits_of(rb[i]);
        }
    });
    CHECK(wrong == 0);
}
#endif
