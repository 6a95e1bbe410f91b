#pragma once
// What is particular to bf16 in registers: widening, rounding, and its step of the canonical dot.
#include "dot.hpp"

namespace l3::inline v0::simd {

/// The 2 * width bf16 at p as words: elements 2i and 2i+1 are the lower and upper half of word i.
template <class A>
L3_INLINE U<A> load_words(const bf16* p) {
    return U<A>::load_unaligned(reinterpret_cast<const std::uint32_t*>(p));
}
/// The even (lower) and odd (upper) bf16 of each word, widened exactly.
template <class A>
L3_INLINE F<A> even(U<A> words) {
    return as<F<A>>(words << 16);
}
template <class A>
L3_INLINE F<A> odd(U<A> words) {
    return as<F<A>>(words & U<A>(0xFFFF0000u));
}

namespace detail {
template <class A>
struct Vectors {
    typedef std::uint32_t Words __attribute__((vector_size(4 * width<A>)));
    typedef std::uint16_t Halves __attribute__((vector_size(2 * width<A>)));
};
template <class A> using Words = typename Vectors<A>::Words;
template <class A> using Halves = typename Vectors<A>::Halves;
}  // namespace detail

/// The next `width` bf16, widened exactly.
template <class A>
L3_INLINE F<A> load(const bf16* p) {
    detail::Halves<A> halves;
    std::memcpy(&halves, p, sizeof halves);
    const detail::Words<A> words = __builtin_convertvector(halves, detail::Words<A>) << 16;
    U<A> r;
    std::memcpy(&r.data, &words, sizeof words);
    return as<F<A>>(r);
}

/// Rounds to bf16 (nearest even, NaN quiet, subnormals to zero of their sign) and stores `width` elements.
template <class A>
L3_INLINE void store(bf16* p, F<A> v) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
    if constexpr (arch::has_bf16_dot<A>) {
        const auto halves = _mm512_cvtneps_pbh(v);
        std::memcpy(p, &halves, sizeof halves);
        return;
    }
#endif
    const I<A> u = as<I<A>>(v), magnitude = u & I<A>(0x7FFFFFFF);
    const I<A> rounded = u + I<A>(0x7FFF) + ((u >> 16) & I<A>(1));
    const I<A> finite = xsimd::select(magnitude < I<A>(0x00800000), u ^ magnitude, rounded);
    const I<A> result = xsimd::select(magnitude > I<A>(0x7F800000), u | I<A>(0x400000), finite);
    detail::Words<A> words;
    std::memcpy(&words, &result.data, sizeof words);
    const detail::Halves<A> halves = __builtin_convertvector(words >> 16, detail::Halves<A>);
    std::memcpy(p, &halves, sizeof halves);
}

/// bf16: lane i does acc = fma(w[2i+1], x[2i+1], acc), then acc = fma(w[2i], x[2i], acc). That is vdpbf16ps; elsewhere
/// the two products are two instructions on inputs that were widened and split when they were packed.
template <class A>
struct Dot<bf16, A> {
    static constexpr int step = 32;
    static constexpr int part = 2 * width<A>;
    static constexpr bool native = arch::has_bf16_dot<A>;
    using Input = std::conditional_t<native, bf16, f32>;
    static constexpr int registers = native ? 1 : 2;
    static constexpr int packed = part / registers;

    L3_INLINE static void pack(Input* out, const bf16* x, [[maybe_unused]] Index stride = packed) {
        if constexpr (native) {
            std::memcpy(out, x, sizeof(bf16) * part);
        } else {
            const U<A> words = load_words<A>(x);
            simd::store<A>(out, odd<A>(words));
            simd::store<A>(out + stride, even<A>(words));
        }
    }

    template <int M, int N>
    L3_INLINE static void accumulate(Grid<F<A>, M, N>& acc, const Input* x, const Row<const bf16*, N>& w) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
        if constexpr (native) {
            const auto load_pairs = [](const bf16* p) { return (__m512bh)_mm512_loadu_si512(p); };
            __m512bh xs[std::size_t(M)];
            L3_UNROLL
            for (int m = 0; m < M; ++m) xs[m] = load_pairs(x + m * part);
            L3_UNROLL
            for (int n = 0; n < N; ++n) {
                const __m512bh ws = load_pairs(w[n]);
                L3_UNROLL
                for (int m = 0; m < M; ++m) acc[m][n] = _mm512_dpbf16_ps(acc[m][n], ws, xs[m]);
            }
            return;
        }
#endif
        if constexpr (!native) {
            Row<F<A>, M> xs;
            L3_UNROLL
            for (int m = 0; m < M; ++m) xs[m] = opaque(simd::load<A>(x + m * packed));
            L3_UNROLL
            for (int n = 0; n < N; ++n) {
                const F<A> ws = opaque(odd<A>(load_words<A>(w[n])));
                L3_UNROLL
                for (int m = 0; m < M; ++m) acc[m][n] = simd::fma<A>(ws, xs[m], acc[m][n]);
            }
            L3_UNROLL
            for (int m = 0; m < M; ++m) xs[m] = opaque(simd::load<A>(x + (M + m) * packed));
            L3_UNROLL
            for (int n = 0; n < N; ++n) {
                const F<A> ws = opaque(even<A>(load_words<A>(w[n])));
                L3_UNROLL
                for (int m = 0; m < M; ++m) acc[m][n] = simd::fma<A>(ws, xs[m], acc[m][n]);
            }
        }
    }
};

}  // namespace l3::inline v0::simd
