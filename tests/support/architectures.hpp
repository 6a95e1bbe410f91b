#pragma once
// The instruction sets that this translation unit is compiled for and this processor can run, as lists of types for
// TEST_CASE_TEMPLATE. Those with fused multiply-add are inside the promise of equal bits; without any, their list is not
// defined.
#include <l3/device/cpu/simd.hpp>
#include <string_view>

namespace support {

/// Whether an instruction set has fused multiply-add.
template <class A>
inline constexpr bool is_fused = std::string_view(A::name) != "x86-64";

}  // namespace support

#if defined(__AVX512BF16__)
#define L3_TEST_FUSED_ARCHITECTURES l3::arch::avx512bf16, l3::arch::avx512, l3::arch::avx2
#elif defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define L3_TEST_FUSED_ARCHITECTURES l3::arch::avx512, l3::arch::avx2
#elif defined(__AVX2__) && defined(__FMA__)
#define L3_TEST_FUSED_ARCHITECTURES l3::arch::avx2
#elif defined(__aarch64__)
#define L3_TEST_FUSED_ARCHITECTURES l3::arch::neon
#endif

#if defined(__aarch64__)
#define L3_TEST_ARCHITECTURES l3::arch::neon
#elif defined(__AVX2__) && defined(__FMA__)
#define L3_TEST_ARCHITECTURES L3_TEST_FUSED_ARCHITECTURES, l3::arch::generic
#else
#define L3_TEST_ARCHITECTURES l3::arch::generic
#endif
