#pragma once
// The only place that looks at the compiler: what l3 needs of it, what it refuses, and the few macros built on that.

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "l3 needs C++20: compile with -std=c++20 or later."
#endif

#if defined(__FAST_MATH__) || defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || \
    (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__)
#error "l3 promises the same bits everywhere: do not compile it with -ffast-math or parts of it."
#endif

#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "l3 runs on Linux on x86-64 and aarch64; this platform is not one of them."
#endif

#if !defined(__cpp_exceptions) && !defined(__CUDA_ARCH__)
#error "l3 reports errors by exceptions: do not compile it with -fno-exceptions."
#endif

/// Inlined at every call, so that nothing below a kernel's entry becomes a symbol that two instruction sets could share.
#define L3_INLINE inline __attribute__((always_inline))
/// A kernel's entry: a function of its own, which arithmetic cannot leave.
#define L3_NOINLINE __attribute__((noinline))
/// Unrolls the loop that follows, whose trip count is a compile-time constant.
#if defined(__clang__)
#define L3_UNROLL _Pragma("clang loop unroll(full)")
#else
#define L3_UNROLL _Pragma("GCC unroll 64")
#endif

#if defined(__CUDACC__)
#define L3_HOST_DEVICE __host__ __device__
#else
#define L3_HOST_DEVICE
#endif

namespace l3 {
/// Carries the major version, so that two versions of l3 in one program do not share symbols.
inline namespace v0 {}
}  // namespace l3
