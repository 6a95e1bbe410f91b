#pragma once
// How far a result may be from the double-precision reference, derived from the number of roundings; never fitted.
#include "random.hpp"
#include "reference/matrix.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace support {

/// Half a unit in the last place, relative: the error of one rounding to T.
template <class T>
inline constexpr double unit_roundoff = std::is_same_v<T, bf16> ? 0x1p-8 : 0x1p-24;

/// Roundings that a term of the canonical dot can pass through: two per step of 32 elements (bf16) or one per step of 16
/// (f32) in its chunk of at most 1024, four levels of the tree, one addition per later chunk; and one more for a bias or
/// a residual.
inline double dot_roundings(double K) {
    return 2 * std::ceil(std::min(K, 1024.0) / 32) + 4 + std::ceil(K / 1024) + 1;
}

/// Bound of |dot - exact| for K products of values up to `magnitude_a` and `magnitude_b` (those of random<T>: 1):
/// the classic n * u * sum |a b|, slightly enlarged for the terms of second order. The values of T are exact
/// inputs, so T changes nothing but the name at the call.
template <class T>
double dot_tolerance(double K, double magnitude_a = 1, double magnitude_b = 1) {
    return 1.01 * dot_roundings(K) * unit_roundoff<f32> * K * magnitude_a * magnitude_b +
           4 * unit_roundoff<f32> * magnitude_a;  // the residual it is added to
}

/// Bound for a product whose inputs were themselves computed in f32 and then rounded to T (a normed row, an attention
/// output). For f32 they carry `input_roundings` errors of 2^-24. For bf16 an f32 error can move a value across a
/// rounding border, and then by a whole 2^-7 of itself; that happens to one value in
/// 2^-8 / (input_roundings * 2^-24), three more are granted.
template <class T>
double product_tolerance(double K, double magnitude_a = 1, double magnitude_b = 1, double input_roundings = 80) {
    const double f32_error = input_roundings * unit_roundoff<f32>;
    const double of_inputs = std::is_same_v<T, bf16>
                                 ? (std::ceil(K * f32_error / 0x1p-8) + 3) * 0x1p-7 + K * 0x1p-24
                                 : K * f32_error;
    return dot_tolerance<T>(K, magnitude_a, magnitude_b) + of_inputs * magnitude_a * magnitude_b;
}

/// Bound of an output of size up to `magnitude` that was rounded to T once, after an error of `before` in f32. The
/// reference is not rounded. (bf16: half a unit of bf16; f32: one rounding.)
template <class T>
double rounded_tolerance(double magnitude, double before = 0) {
    return before + unit_roundoff<T> * (magnitude + before);
}

/// Logits of a whole model, relative to the largest |logit|: docs/numerics.md, where the contract ends.
template <class T>
inline constexpr double logits_tolerance = std::is_same_v<T, bf16> ? 2e-2 : 1e-5;

/// The largest |a - b|; infinite if the shapes differ or anything is not a number.
inline double max_error(const reference::Matrix& a, const reference::Matrix& b) {
    if (a.rows != b.rows || a.cols != b.cols) return std::numeric_limits<double>::infinity();
    double worst = 0;
    for (std::size_t i = 0; i < a.values.size(); ++i) {
        const double error = std::abs(a.values[i] - b.values[i]);
        if (!(error <= std::numeric_limits<double>::max())) return std::numeric_limits<double>::infinity();
        worst = std::max(worst, error);
    }
    return worst;
}

/// The largest magnitude.
inline double max_abs(const reference::Matrix& a) {
    double worst = 0;
    for (double x : a.values) worst = std::max(worst, std::abs(x));
    return worst;
}

/// The largest |a - b| in units of the largest |b|: how logits are compared.
inline double relative_error(const reference::Matrix& a, const reference::Matrix& b) {
    return max_error(a, b) / max_abs(b);
}

}  // namespace support
