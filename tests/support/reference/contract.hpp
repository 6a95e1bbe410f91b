#pragma once
// The numerics contract itself (docs/numerics.md) in plain scalar f32: what every kernel must give bit for bit.
// Nothing of the library is used but the exponential, which the caller passes in. All arithmetic goes through the few
// functions below: every product is an fma, so no compiler can contract one with a sum, and subnormals are zero on the
// way in and out, so the floating-point mode of the thread does not matter.
#include "matrix.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

namespace reference::contract {

inline float flush(float x) { return std::abs(x) < std::numeric_limits<float>::min() ? std::copysign(0.0f, x) : x; }
inline float fused(float a, float b, float c) { return flush(std::fma(flush(a), flush(b), flush(c))); }
inline float product(float a, float b) { return fused(a, b, -0.0f); }  // -0: keeps the sign of a zero product
inline float sum(float a, float b) { return flush(flush(a) + flush(b)); }
inline float quotient(float a, float b) { return flush(flush(a) / flush(b)); }

template <class T>
inline constexpr bool is_f32 = std::is_same_v<T, float>;

template <class T>
float widen(T x) {
    return float(to_double(x));
}

/// f32 to T: nearest even; NaN stays NaN; subnormals become zero of their sign.
template <class T>
T round_to(float x) {
    if constexpr (is_f32<T>) {
        return x;
    } else {
        std::uint32_t u;
        std::memcpy(&u, &x, sizeof u);
        if (std::isnan(x)) return T::from_bits(std::uint16_t((u >> 16) | 0x40u));
        if (std::abs(x) < std::numeric_limits<float>::min()) return T::from_bits(std::uint16_t((u >> 16) & 0x8000u));
        const std::uint32_t kept = u >> 16, rest = u & 0xFFFFu;
        return T::from_bits(std::uint16_t(kept + (rest > 0x8000u || (rest == 0x8000u && (kept & 1u)) ? 1u : 0u)));
    }
}

/// Sixteen lanes to one: i with i+8, i+4, i+2, i+1.
inline float tree(float (&lane)[16]) {
    for (int width = 8; width >= 1; width /= 2)
        for (int i = 0; i < width; ++i) lane[i] = sum(lane[i], lane[i + width]);
    return lane[0];
}

/// The canonical dot of w and x [K]: chunks of 1024, sixteen lanes from +0, steps of 32 (bf16: odd element of each pair
/// first) or 16 (f32), missing elements +0.
template <class T>
float dot(const T* w, const T* x, std::int64_t K) {
    const auto at = [K](const T* p, std::int64_t i) { return i < K ? widen(p[i]) : 0.0f; };
    float total = 0;
    for (std::int64_t chunk = 0; chunk < K; chunk += 1024) {
        float lane[16] = {};
        const std::int64_t end = std::min(K, chunk + 1024);
        for (std::int64_t k = chunk; k < end; k += is_f32<T> ? 16 : 32)
            for (int i = 0; i < 16; ++i)
                if constexpr (is_f32<T>) {
                    lane[i] = fused(at(w, k + i), at(x, k + i), lane[i]);
                } else {
                    lane[i] = fused(at(w, k + 2 * i + 1), at(x, k + 2 * i + 1), lane[i]);
                    lane[i] = fused(at(w, k + 2 * i), at(x, k + 2 * i), lane[i]);
                }
        total = chunk == 0 ? tree(lane) : sum(total, tree(lane));
    }
    return total;
}

/// out [H] = round_T((x * inv) * w), inv = 1 / sqrt(dot(x, x) / H + eps).
template <class T>
void rms_norm(T* out, const float* x, const float* weight, std::int64_t H, float eps) {
    const float inv = quotient(1, std::sqrt(sum(quotient(dot(x, x, H), float(H)), eps)));
    for (std::int64_t i = 0; i < H; ++i) out[i] = round_to<T>(product(product(x[i], inv), weight[i]));
}

/// Turns the pair (x0, x1) by the angle with cosine c and sine s.
inline void rope(float& x0, float& x1, float c, float s) {
    const float r0 = fused(x0, c, -product(x1, s));
    const float r1 = fused(x1, c, product(x0, s));
    x0 = r0, x1 = r1;
}

/// silu(g) * u, silu(g) = g / (1 + exp(-g)).
template <class Exp>
float silu_mul(float g, float u, const Exp& exp) {
    return product(quotient(g, sum(1, exp(-g))), u);
}

/// One query head over S = position + 1 cached positions. q [Dh]; k and v: position s starts at s * stride.
/// scale: float(1 / sqrt(double(Dh))). out [Dh].
template <class T, class Exp>
void attention(T* out, const T* q, const T* k, const T* v, std::int64_t stride, std::int64_t S, std::int64_t Dh,
               const Exp& exp) {
    const float scale = float(1 / std::sqrt(double(Dh)));
    float m = 0, l = 0;
    std::vector<float> o;
    for (std::int64_t first = 0; first < S; first += 256) {  // a block of 256 absolute positions
        const std::int64_t n = std::min<std::int64_t>(256, S - first);
        std::vector<float> p(std::size_t(n), 0.0f), block_o(std::size_t(Dh), 0.0f);
        float block_m = -std::numeric_limits<float>::infinity(), lane[16] = {};
        for (std::int64_t j = 0; j < n; ++j) {
            const T* key = k + (first + j) * stride;
            float score = 0;
            for (std::int64_t d = 0; d < Dh; d += is_f32<T> ? 1 : 2) {
                if constexpr (!is_f32<T>)
                    if (d + 1 < Dh) score = fused(widen(q[d + 1]), widen(key[d + 1]), score);
                score = fused(widen(q[d]), widen(key[d]), score);
            }
            p[std::size_t(j)] = product(score, scale);
            block_m = std::max(block_m, p[std::size_t(j)]);
        }
        for (std::int64_t j = 0; j < n; ++j) {
            float& pj = p[std::size_t(j)];
            pj = flush(exp(sum(pj, -block_m)));
            lane[j % 16] = sum(lane[j % 16], pj);
            for (std::int64_t d = 0; d < Dh; ++d)
                block_o[std::size_t(d)] = fused(pj, widen(v[(first + j) * stride + d]), block_o[std::size_t(d)]);
        }
        const float block_l = tree(lane);
        if (first == 0) {
            m = block_m, l = block_l, o = block_o;
            continue;
        }
        const float new_m = std::max(m, block_m), a = exp(sum(m, -new_m)), b = exp(sum(block_m, -new_m));
        l = fused(l, a, product(block_l, b));
        for (std::size_t d = 0; d < o.size(); ++d) o[d] = fused(o[d], a, product(block_o[d], b));
        m = new_m;
    }
    for (std::int64_t d = 0; d < Dh; ++d) out[d] = round_to<T>(quotient(o[std::size_t(d)], l));
}

}  // namespace reference::contract
