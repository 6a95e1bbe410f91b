#pragma once
// The SIMD layer on xsimd; the only file that includes it. Kernels are written against the names here.
#include "../../core/config.hpp"
#include "../../dtype/bf16.hpp"
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <xsimd/xsimd.hpp>

static_assert(XSIMD_VERSION_MAJOR > 8 || (XSIMD_VERSION_MAJOR == 8 && XSIMD_VERSION_MINOR >= 1), "l3 needs xsimd 8.1 or later");

namespace l3::inline v0 {

/// What a kernel is compiled for. Tags of l3's own, since xsimd's does not tell whether BF16 is native: two bodies
/// under one tag would be merged by the linker. Every kernel has the tag as its first template parameter.
namespace arch {
#if defined(__x86_64__)
/// Plain x86-64 (SSE2): no fused multiply-add, outside the promise of equal bits.
struct generic {
    using registers = xsimd::sse2;
    static constexpr int register_count = 16;
    static constexpr const char* name = "x86-64";
};
#if defined(__AVX2__) && defined(__FMA__)
struct avx2 {
    using registers = xsimd::fma3<xsimd::avx2>;
    static constexpr int register_count = 16;
    static constexpr const char* name = "avx2";
};
#endif
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
struct avx512 {
    using registers = xsimd::avx512bw;
    static constexpr int register_count = 32;
    static constexpr const char* name = "avx512";
};
#if defined(__AVX512BF16__)
struct avx512bf16 {
    using registers = xsimd::avx512bw;
    static constexpr int register_count = 32;
    static constexpr const char* name = "avx512bf16";
};
using native = avx512bf16;
#else
using native = avx512;
#endif
#elif defined(__AVX2__) && defined(__FMA__)
using native = avx2;
#else
using native = generic;
#endif
#else
struct neon {
    using registers = xsimd::neon64;
    static constexpr int register_count = 32;
    static constexpr const char* name = "neon";
};
using native = neon;
#endif

/// Whether products of bf16 are one instruction (vdpbf16ps) rather than widened.
template <class A>
inline constexpr bool has_bf16_dot = false;
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
template <>
inline constexpr bool has_bf16_dot<avx512bf16> = true;
#endif
}  // namespace arch

namespace simd {

/// One register of f32, and of 32-bit words.
template <class A> using F = xsimd::batch<f32, typename A::registers>;
template <class A> using U = xsimd::batch<std::uint32_t, typename A::registers>;
template <class A> using I = xsimd::batch<std::int32_t, typename A::registers>;

/// Elements of a register.
template <class A> inline constexpr int width = int(F<A>::size);
/// Registers that hold the sixteen lanes of the numerics contract: 1, 2 or 4.
template <class A> inline constexpr int parts = 16 / width<A>;

/// Arrays of N, and of M by N; V[N] with an int N that depends on a template parameter is a warning of GCC 12.
template <class V, int N> using Row = V[std::size_t(N)];
template <class V, int M, int N> using Grid = V[std::size_t(M)][std::size_t(N)];

/// Keeps the compiler from seeing where a value came from: no contraction of the product that made it, no load folded
/// into each of its uses.
template <class V>
L3_INLINE V opaque(V v) {
#if defined(__AVX512F__)
    asm("" : "+v"(v.data));
#elif defined(__x86_64__)
    asm("" : "+x"(v.data));
#else
    asm("" : "+w"(v.data));
#endif
    return v;
}

template <class A> L3_INLINE F<A> load(const f32* p) { return F<A>::load_unaligned(p); }
template <class A> L3_INLINE void store(f32* p, F<A> v) { v.store_unaligned(p); }
/// a * b + c, rounded once (but on plain x86-64).
template <class A>
L3_INLINE F<A> fma(F<A> a, F<A> b, F<A> c) {
#if defined(__AVX512F__)
    if constexpr (width<A> == 16) return _mm512_fmadd_ps(a, b, c);  // xsimd 8.1 multiplies, then adds
    else
#endif
        return xsimd::fma(a, b, c);
}

/// a / b, rounded once.
template <class A>
L3_INLINE F<A> divide(F<A> a, F<A> b) {
#if defined(__aarch64__)
    return F<A>(vdivq_f32(a, b));  // xsimd multiplies by an approximate reciprocal
#else
    return a / b;
#endif
}

/// The same bits as a register of another type: as<F<A>>(words).
template <class To, class From>
L3_INLINE To as(From v) {
#if XSIMD_VERSION_MAJOR < 9
    return xsimd::bitwise_cast<To>(v);
#else
    return xsimd::bitwise_cast<typename To::value_type>(v);
#endif
}

/// Sixteen lanes of f32, as the numerics contract counts them.
template <class A>
struct Lanes {
    Row<F<A>, parts<A>> part;
};

template <class A>
L3_INLINE Lanes<A> broadcast(f32 x) {
    Lanes<A> v;
    L3_UNROLL
    for (auto& p : v.part) p = F<A>(x);
    return v;
}
template <class A>
L3_INLINE Lanes<A> load_lanes(const f32* p) {
    Lanes<A> v;
    L3_UNROLL
    for (int i = 0; i < parts<A>; ++i) v.part[i] = load<A>(p + i * width<A>);
    return v;
}
template <class A>
L3_INLINE void store_lanes(f32* p, const Lanes<A>& v) {
    L3_UNROLL
    for (int i = 0; i < parts<A>; ++i) store<A>(p + i * width<A>, v.part[i]);
}
/// f of each register: map<A>([](auto a, auto b) { return a + b; }, x, y).
template <class A, class Function, class... Vs>
L3_INLINE Lanes<A> map(Function f, const Vs&... vs) {
    Lanes<A> r;
    L3_UNROLL
    for (int i = 0; i < parts<A>; ++i) r.part[i] = f(vs.part[i]...);
    return r;
}
template <class A>
L3_INLINE Lanes<A> fma(const Lanes<A>& a, const Lanes<A>& b, const Lanes<A>& c) {
    return map<A>([](F<A> x, F<A> y, F<A> z) { return fma<A>(x, y, z); }, a, b, c);
}

/// The sums of `count` groups of sixteen lanes, by the contract's tree: i with i+8, i+4, i+2, i+1.
/// lanes[16 * count] and sums[count]; reads up to the next multiple of four groups.
template <class A>
L3_INLINE void tree_sums(const f32* lanes, int count, f32* sums) {
#if defined(__x86_64__)
    using Q = xsimd::batch<f32, xsimd::sse2>;
#else
    using Q = xsimd::batch<f32, xsimd::neon64>;
#endif
    for (int n = 0; n < count; n += 4) {
        Q four[4];
        L3_UNROLL
        for (int i = 0; i < 4; ++i) {
            const f32* x = lanes + (n + i) * 16;
            four[i] = (Q::load_unaligned(x) + Q::load_unaligned(x + 8)) + (Q::load_unaligned(x + 4) + Q::load_unaligned(x + 12));
        }
        // Transposed, so that lane i of one register is group n + i.
        const Q ac = xsimd::zip_lo(four[0], four[2]), bd = xsimd::zip_lo(four[1], four[3]);
        const Q ac2 = xsimd::zip_hi(four[0], four[2]), bd2 = xsimd::zip_hi(four[1], four[3]);
        const Q sum = (xsimd::zip_lo(ac, bd) + xsimd::zip_lo(ac2, bd2)) + (xsimd::zip_hi(ac, bd) + xsimd::zip_hi(ac2, bd2));
        if (count - n >= 4) {
            sum.store_unaligned(sums + n);
        } else {
            alignas(16) f32 some[4];
            sum.store_aligned(some);
            for (int i = 0; n + i < count; ++i) sums[n + i] = some[i];
        }
    }
}

/// The tree of one group.
template <class A>
L3_INLINE f32 tree_sum(const Lanes<A>& v) {
    alignas(64) f32 lanes[64] = {}, sum[4];
    store_lanes<A>(lanes, v);
    tree_sums<A>(lanes, 1, sum);
    return sum[0];
}

}  // namespace simd
}  // namespace l3::inline v0
