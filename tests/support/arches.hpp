#pragma once
// The instruction sets that this binary holds kernels for, all of them runnable where it runs.
#include <l3/device/cpu/simd.hpp>

#if defined(__x86_64__)
#if defined(__AVX512BF16__)
#define SUPPORT_ARCHES l3::arch::generic, l3::arch::avx2, l3::arch::avx512, l3::arch::avx512bf16
#elif defined(__AVX512F__)
#define SUPPORT_ARCHES l3::arch::generic, l3::arch::avx2, l3::arch::avx512
#elif defined(__AVX2__)
#define SUPPORT_ARCHES l3::arch::generic, l3::arch::avx2
#else
#define SUPPORT_ARCHES l3::arch::generic
#endif
#else
#define SUPPORT_ARCHES l3::arch::neon
#endif

namespace support {

/// Whether an instruction set has fused multiply-add, and with it the promise of equal bits.
#if defined(__x86_64__)
template <class A> inline constexpr bool is_exact = !std::is_same_v<A, l3::arch::generic>;
#else
template <class A> inline constexpr bool is_exact = true;
#endif

}  // namespace support
