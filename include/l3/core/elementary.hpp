#pragma once
// Elementary functions in double, for the tables of rotary positions: made of IEEE operations and fma alone, so that
// their bits depend neither on the C library nor on the compiler's contraction of products and sums.
#include "config.hpp"
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace l3::inline v0::elementary {

namespace detail {

/// hi + lo, where lo is below half a unit in the last place of hi.
struct TwoDoubles { double hi, lo; };

/// A product that later feeds a sum: no compiler may make one operation of the two.
L3_INLINE double product(double a, double b) {
    double p = a * b;
#if defined(__x86_64__)
    asm("" : "+x"(p));
#else
    asm("" : "+w"(p));
#endif
    return p;
}

/// a + b exactly, for any a and b (Knuth), and for |a| >= |b| (Dekker).
L3_INLINE TwoDoubles two_sum(double a, double b) {
    const double s = a + b, t = s - a;
    return {s, (a - (s - t)) + (b - t)};
}
L3_INLINE TwoDoubles fast_two_sum(double a, double b) {
    const double s = a + b;
    return {s, b - (s - a)};
}
/// a * b exactly.
L3_INLINE TwoDoubles two_product(double a, double b) {
    const double p = product(a, b);
    return {p, std::fma(a, b, -p)};
}

/// c[0] + x * (c[1] + x * (c[2] + ...)).
template <std::size_t n>
L3_INLINE double polynomial(double x, const double (&c)[n]) {
    double p = c[n - 1];
    L3_UNROLL
    for (std::size_t i = 1; i < n; ++i) p = std::fma(p, x, c[n - 1 - i]);
    return p;
}

/// Adding this to a double below 2^51 rounds it to an integer, which is then in the low bits.
inline constexpr double round_magic = 0x1.8p52;
inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// 2^n for normal results.
L3_INLINE double power_of_two(std::int64_t n) { return std::bit_cast<double>((n + 1023) << 52); }

/// ln 2 and pi/2 in pieces; products of the first piece of ln 2 with integers below 2^20 are exact.
inline constexpr double ln2_hi = 0x1.62e42feep-1, ln2_lo = 0x1.a39ef35793c76p-33;
inline constexpr double ln2 = 0x1.62e42fefa39efp-1, ln2_rest = 0x1.abc9e3b39803fp-56;
inline constexpr double half_pi = 0x1.921fb54442d18p0, half_pi_2 = 0x1.1a62633145c07p-54,
                        half_pi_3 = -0x1.f1976b7ed8fbcp-110;

/// exp(hi + lo): 2^n exp(r), |r| <= ln 2 / 2, exp(r) by its Taylor series.
inline double exp(TwoDoubles x) {
    if (x.hi > 709.8) return infinity;
    if (x.hi < -745.2) return 0;
    const double t = std::fma(x.hi, 0x1.71547652b82fep0, round_magic), n = t - round_magic;
    const TwoDoubles r = fast_two_sum(std::fma(-n, ln2, x.hi), std::fma(-n, ln2_rest, x.lo));  // the first fma is exact
    static constexpr double c[] = {1.0 / 2, 1.0 / 6, 1.0 / 24, 1.0 / 120, 1.0 / 720, 1.0 / 5040, 1.0 / 40320,
                                   1.0 / 362880, 1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800};
    const double tail = std::fma(r.hi * r.hi, polynomial(r.hi, c), r.lo);
    const auto bits = static_cast<std::int32_t>(std::bit_cast<std::uint64_t>(t));
    const std::int64_t half = bits / 2;  // in two steps, so that subnormal results are rounded once
    return (1 + (r.hi + tail)) * power_of_two(half) * power_of_two(bits - half);
}

/// log(x), to about 65 bits, for x > 0: x = 2^k m, log m = 2 atanh(s), s = (m - 1) / (m + 1).
inline TwoDoubles log(double x) {
    if (x == infinity) return {infinity, 0};
    std::int64_t k = 0;
    if (x < std::numeric_limits<double>::min()) {
        x *= 0x1p54;
        k = -54;
    }
    const auto bits = std::bit_cast<std::int64_t>(x);
    const std::int64_t exponent = (bits - 0x3FE6A09E667F3BCD) >> 52;  // m in [sqrt(1/2), sqrt(2))
    const double m = std::bit_cast<double>(bits - (exponent << 52)), n = double(k + exponent);

    const TwoDoubles d = two_sum(1, m);
    const double s_hi = (m - 1) / d.hi;
    const TwoDoubles s = {s_hi, std::fma(-s_hi, d.lo, std::fma(-s_hi, d.hi, m - 1)) / d.hi};
    TwoDoubles z = two_product(s.hi, s.hi);
    z.lo = std::fma(2 * s.hi, s.lo, z.lo);
    // atanh(s) = s + s z (1/3 + z (1/5 + ...))
    static constexpr double c[] = {1.0 / 5,  1.0 / 7,  1.0 / 9,  1.0 / 11, 1.0 / 13, 1.0 / 15, 1.0 / 17,
                                   1.0 / 19, 1.0 / 21, 1.0 / 23, 1.0 / 25, 1.0 / 27, 1.0 / 29};
    TwoDoubles series = fast_two_sum(1.0 / 3, product(z.hi, polynomial(z.hi, c)));
    series.lo += 0x1.5555555555555p-56;  // what 1.0 / 3 lacks
    TwoDoubles w = two_product(s.hi, z.hi);
    w.lo = std::fma(s.hi, z.lo, std::fma(s.lo, z.hi, w.lo));
    TwoDoubles u = two_product(w.hi, series.hi);
    u.lo = std::fma(w.hi, series.lo, std::fma(w.lo, series.hi, u.lo));

    const TwoDoubles first = two_sum(product(n, ln2_hi), 2 * s.hi), both = two_sum(first.hi, 2 * u.hi);
    return fast_two_sum(both.hi, both.lo + (first.lo + std::fma(n, ln2_lo, 2 * (s.lo + u.lo))));
}

}  // namespace detail

/// e^x. At most 1 ulp from exact, as are all below.
inline double exp(double x) { return detail::exp({x, 0}); }

/// The natural logarithm; -infinity for 0, NaN below.
inline double log(double x) {
    if (x == 0) return -detail::infinity;
    return x > 0 ? detail::log(x).hi : detail::nan;
}

/// x^y for x >= 0; NaN for x below.
inline double pow(double x, double y) {
    if (y == 0 || x == 1) return 1;
    if (x == 0) return y > 0 ? 0 : y < 0 ? detail::infinity : y;
    if (!(x > 0)) return detail::nan;
    const detail::TwoDoubles l = detail::log(x);
    const double hi = detail::product(y, l.hi);
    return detail::exp({hi, std::fma(y, l.lo, std::fma(y, l.hi, -hi))});
}

struct SinCos { double sin, cos; };

/// Sine and cosine of x radians, |x| <= 2^30; NaN for infinities.
inline SinCos sincos(double x) {
    using namespace detail;
    // x = n pi/2 + r, |r| <= pi/4. The first fma is exact.
    const double t = std::fma(x, 0x1.45f306dc9c883p-1, round_magic), n = t - round_magic;
    const TwoDoubles p = two_product(n, half_pi_2), q = two_sum(std::fma(-n, half_pi, x), -p.hi);
    const TwoDoubles r = fast_two_sum(q.hi, q.lo - std::fma(n, half_pi_3, p.lo));
    const double z = r.hi * r.hi;
    // Minimax polynomials of FDLIBM (Sun Microsystems 1993), k_sin.c and k_cos.c.
    static constexpr double s[] = {-1.66666666666666324348e-01, 8.33333333332248946124e-03,
                                   -1.98412698298579493134e-04, 2.75573137070700676789e-06,
                                   -2.50507602534068634195e-08, 1.58969099521155010221e-10};
    static constexpr double c[] = {4.16666666666666019037e-02, -1.38888888888741095749e-03,
                                   2.48015872894767294178e-05, -2.75573143513906633035e-07,
                                   2.08757232129817482790e-09, -1.13596475577881948265e-11};
    // sin(r.hi) + r.lo cos(r.hi)
    const double sine = r.hi + std::fma(r.hi * z, polynomial(z, s), std::fma(-0.5 * z, r.lo, r.lo));
    // 1 - z/2, what its rounding lost, the series, and -r.lo sin(r.hi)
    const double w = std::fma(-0.5, z, 1.0), lost = std::fma(-0.5, z, 1 - w);
    const double cosine = w + std::fma(z * z, polynomial(z, c), std::fma(-r.hi, r.lo, lost));
    switch (std::bit_cast<std::uint64_t>(t) & 3) {
        case 0: return {sine, cosine};
        case 1: return {cosine, -sine};
        case 2: return {-sine, -cosine};
        default: return {-cosine, sine};
    }
}
inline double sin(double x) { return sincos(x).sin; }
inline double cos(double x) { return sincos(x).cos; }

}  // namespace l3::inline v0::elementary
