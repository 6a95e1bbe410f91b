#pragma once
// exp and silu in f32: one polynomial, in registers and for single numbers, with the same bits.
#include "simd.hpp"
#include <bit>
#include <cmath>
#include <limits>

namespace l3::inline v0::simd {

namespace detail {

/// exp(x) = 2^n p(r), n = x / ln 2 rounded, r = x - n ln 2, p(r) = 1 + r + r^2 (c[4] + r (c[3] + ...)).
/// The polynomial is that of Cephes' expf (Moshier 1989). n * ln2_hi is exact.
struct Exp {
    static constexpr f32 highest = 89, lowest = -88;  // beyond: infinity, 0
    static constexpr f32 log2_e = 1.44269504f, ln2_hi = 0.693359375f, ln2_lo = -2.12194440e-4f;
    static constexpr f32 round_magic = 0x1.8p23f;  // added to a number, leaves it rounded to an integer in the low bits
    static constexpr f32 c[] = {1.9875691500e-4f, 1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                1.6666665459e-1f, 5.0000001201e-1f, 1,                1};
    static constexpr std::int32_t smallest = 0x00800000, infinity = 0x7F800000;
};

}  // namespace detail

/// e^x, at most 1 ulp from exact (2 on plain x86-64); exp(0) = 1, exp(-inf) = 0, results below the smallest normal
/// are 0, NaN stays NaN.
/// The last step is integer arithmetic on the exponent: nothing for a compiler to contract with what follows.
template <class A>
L3_INLINE F<A> exp(F<A> x) {
    using E = detail::Exp;
    const F<A> limited = xsimd::min(xsimd::max(x, F<A>(E::lowest)), F<A>(E::highest));
    const F<A> t = fma<A>(limited, F<A>(E::log2_e), F<A>(E::round_magic)), n = t - F<A>(E::round_magic);
    const F<A> r = fma<A>(n, F<A>(-E::ln2_lo), fma<A>(n, F<A>(-E::ln2_hi), limited));
    F<A> p = F<A>(E::c[0]);
    L3_UNROLL
    for (int i = 1; i < 8; ++i) p = fma<A>(p, r, F<A>(E::c[i]));
    const I<A> bits = as<I<A>>(p) + (as<I<A>>(t) << 23);
    const I<A> finite = xsimd::select(bits < I<A>(E::infinity), bits, I<A>(E::infinity));
    const I<A> result = xsimd::select(bits < I<A>(E::smallest), I<A>(0), finite);
    return xsimd::select(x == x, as<F<A>>(result), x + x);
}
template <class A>
L3_INLINE Lanes<A> exp(const Lanes<A>& x) {
    return map<A>([](F<A> v) { return exp<A>(v); }, x);
}

/// The same for one number: the same bits as in a register, in any floating-point mode.
inline f32 exp(f32 x) {
    using E = detail::Exp;
    if (x != x) return x + x;
    const f32 limited = x < E::lowest ? E::lowest : x > E::highest ? E::highest : x;
    const f32 t = std::fma(limited, E::log2_e, E::round_magic), n = t - E::round_magic;
    const f32 r = std::fma(n, -E::ln2_lo, std::fma(n, -E::ln2_hi, limited));
    f32 p = E::c[0];
    for (int i = 1; i < 8; ++i) p = std::fma(p, r, E::c[i]);
    const auto bits = std::int32_t(std::bit_cast<std::uint32_t>(p) + (std::bit_cast<std::uint32_t>(t) << 23));
    if (bits < E::smallest) return 0;
    return bits < E::infinity ? std::bit_cast<f32>(bits) : std::numeric_limits<f32>::infinity();
}

/// silu(x) = x / (1 + exp(-x)); -0 for very negative x, x for large x.
template <class A>
L3_INLINE F<A> silu(F<A> x) {
    return divide<A>(x, F<A>(1.0f) + exp<A>(-x));
}

}  // namespace l3::inline v0::simd
