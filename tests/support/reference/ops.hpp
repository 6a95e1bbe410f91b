#pragma once
// Every operation of the forward pass as naive loops in double precision, from the papers; no code of the library.
// A `Rounding` says what becomes of a value where the library rounds it to T; without it nothing is rounded.
#include "matrix.hpp"
#include <algorithm>
#include <cmath>

namespace reference {

using Rounding = double (*)(double);

/// To the nearest bf16, ties to even. (A double is first made an f32: it stands for a value the library has in f32.)
inline double to_bf16(double x) {
    const float f = float(x);
    std::uint32_t u;
    std::memcpy(&u, &f, sizeof u);
    const std::uint32_t kept = u >> 16, rest = u & 0xFFFFu;
    u = (kept + (rest > 0x8000u || (rest == 0x8000u && (kept & 1u)) ? 1u : 0u)) << 16;
    float r;
    std::memcpy(&r, &u, sizeof r);
    return double(r);
}
inline double unrounded(double x) { return x; }

/// The rounding for a model of dtype T.
template <class T>
constexpr Rounding rounding_of() {
    return std::is_arithmetic_v<T> ? &unrounded : &to_bf16;
}

inline Matrix rounded(Matrix x, Rounding round) {
    for (double& v : x.values) v = round(v);
    return x;
}

/// a [M, K], W [N, K], bias [N] or none: a W^T + bias, [M, N].
inline Matrix linear(const Matrix& a, const Matrix& W, const Matrix& bias = {}) {
    check(a.cols == W.cols, "reference::linear: a and W");
    check(!bias || std::int64_t(bias.values.size()) == W.rows, "reference::linear: bias");
    Matrix out(a.rows, W.rows);
    for (std::int64_t m = 0; m < a.rows; ++m)
        for (std::int64_t n = 0; n < W.rows; ++n) {
            double sum = 0;
            for (std::int64_t k = 0; k < a.cols; ++k) sum += a(m, k) * W(n, k);
            out(m, n) = sum + (bias ? bias.values[std::size_t(n)] : 0);
        }
    return out;
}

/// x + a W^T + bias.
inline Matrix linear_add(const Matrix& x, const Matrix& a, const Matrix& W, const Matrix& bias = {}) {
    Matrix out = linear(a, W, bias);
    check(out.rows == x.rows && out.cols == x.cols, "reference::linear_add: x");
    for (std::size_t i = 0; i < out.values.size(); ++i) out.values[i] += x.values[i];
    return out;
}

/// x / sqrt(mean(x^2) + eps) * weight, row by row (Zhang & Sennrich 2019).
inline Matrix rms_norm(const Matrix& x, const Matrix& weight, double eps) {
    check(std::int64_t(weight.values.size()) == x.cols, "reference::rms_norm: weight");
    Matrix out(x.rows, x.cols);
    for (std::int64_t m = 0; m < x.rows; ++m) {
        double sum = 0;
        for (std::int64_t i = 0; i < x.cols; ++i) sum += x(m, i) * x(m, i);
        const double scale = 1 / std::sqrt(sum / double(x.cols) + eps);
        for (std::int64_t i = 0; i < x.cols; ++i) out(m, i) = x(m, i) * scale * weight.values[std::size_t(i)];
    }
    return out;
}

/// Angles of positions [first, first + count): cos and sin [count, Dh/2] of position * inv_freq.
struct RopeTable { Matrix cos, sin; };
inline RopeTable rope_table(std::span<const double> inv_freq, std::int64_t first, std::int64_t count) {
    RopeTable t{Matrix(count, std::int64_t(inv_freq.size())), Matrix(count, std::int64_t(inv_freq.size()))};
    for (std::int64_t m = 0; m < count; ++m)
        for (std::int64_t i = 0; i < t.cos.cols; ++i) {
            t.cos(m, i) = std::cos(double(first + m) * inv_freq[std::size_t(i)]);
            t.sin(m, i) = std::sin(double(first + m) * inv_freq[std::size_t(i)]);
        }
    return t;
}

/// Turns the pairs (i, i + Dh/2) of every head (Su et al. 2021, in the order of Hugging Face checkpoints).
inline Matrix rope(const Matrix& x, const Matrix& cos, const Matrix& sin, std::int64_t head_dim) {
    check(x.rows == cos.rows && 2 * cos.cols == head_dim && x.cols % head_dim == 0, "reference::rope: x and tables");
    Matrix out(x.rows, x.cols);
    const std::int64_t half = head_dim / 2;
    for (std::int64_t m = 0; m < x.rows; ++m)
        for (std::int64_t h = 0; h < x.cols; h += head_dim)
            for (std::int64_t i = 0; i < half; ++i) {
                const double a = x(m, h + i), b = x(m, h + half + i), c = cos(m, i), s = sin(m, i);
                out(m, h + i) = a * c - b * s;
                out(m, h + half + i) = b * c + a * s;
            }
    return out;
}

/// q [M, Nq*Dh], k and v [M, Nkv*Dh]: norm, projection, rotation of q and k.
struct QKV { Matrix q, k, v; };
inline QKV norm_qkv(const Matrix& x, const Matrix& norm_weight, double eps, const Matrix& q_proj, const Matrix& k_proj,
                    const Matrix& v_proj, const RopeTable& table, std::int64_t head_dim, Rounding round = unrounded,
                    const Matrix& q_bias = {}, const Matrix& k_bias = {}, const Matrix& v_bias = {}) {
    const Matrix normed = rounded(rms_norm(x, norm_weight, eps), round);
    return {rounded(rope(linear(normed, q_proj, q_bias), table.cos, table.sin, head_dim), round),
            rounded(rope(linear(normed, k_proj, k_bias), table.cos, table.sin, head_dim), round),
            rounded(linear(normed, v_proj, v_bias), round)};
}

/// Causal attention with grouped heads. q [M, Nq*Dh] at positions [first, first + M); k, v [S, Nkv*Dh] from position 0,
/// S >= first + M. Query head h reads key-value head h / (Nq / Nkv). Scale 1/sqrt(Dh).
inline Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v, std::int64_t head_dim, std::int64_t first) {
    const std::int64_t Nq = q.cols / head_dim, Nkv = k.cols / head_dim;
    check(Nq % Nkv == 0 && k.rows >= first + q.rows && v.rows == k.rows, "reference::attention: q, k, v");
    Matrix out(q.rows, q.cols);
    for (std::int64_t m = 0; m < q.rows; ++m)
        for (std::int64_t h = 0; h < Nq; ++h) {
            const double* qh = q.row(m) + h * head_dim;
            const std::int64_t kv = h / (Nq / Nkv) * head_dim;
            std::vector<double> p;
            double max = -INFINITY, sum = 0;
            for (std::int64_t s = 0; s <= first + m; ++s) {
                double score = 0;
                for (std::int64_t d = 0; d < head_dim; ++d) score += qh[d] * k(s, kv + d);
                p.push_back(score / std::sqrt(double(head_dim)));
                max = std::max(max, p.back());
            }
            for (double& e : p) sum += e = std::exp(e - max);
            for (std::int64_t d = 0; d < head_dim; ++d) {
                double o = 0;
                for (std::int64_t s = 0; s <= first + m; ++s) o += p[std::size_t(s)] * v(s, kv + d);
                out(m, h * head_dim + d) = o / sum;
            }
        }
    return out;
}

/// silu(gate) * up with silu(g) = g / (1 + exp(-g)) (Shazeer 2020).
inline Matrix silu_mul(const Matrix& gate, const Matrix& up) {
    check(gate.values.size() == up.values.size(), "reference::silu_mul");
    Matrix out(gate.rows, gate.cols);
    for (std::size_t i = 0; i < out.values.size(); ++i)
        out.values[i] = gate.values[i] / (1 + std::exp(-gate.values[i])) * up.values[i];
    return out;
}

/// h [M, F] = silu(gate) * up of the normed x.
inline Matrix norm_gate_up(const Matrix& x, const Matrix& norm_weight, double eps, const Matrix& gate_proj,
                           const Matrix& up_proj, Rounding round = unrounded, const Matrix& gate_bias = {},
                           const Matrix& up_bias = {}) {
    const Matrix normed = rounded(rms_norm(x, norm_weight, eps), round);
    return rounded(silu_mul(linear(normed, gate_proj, gate_bias), linear(normed, up_proj, up_bias)), round);
}

/// Logits [R, V] of the chosen rows of x.
inline Matrix norm_logits(const Matrix& x, std::span<const int> rows, const Matrix& norm_weight, double eps,
                          const Matrix& lm_head, Rounding round = unrounded) {
    Matrix chosen(std::int64_t(rows.size()), x.cols);
    for (std::size_t r = 0; r < rows.size(); ++r)
        for (std::int64_t i = 0; i < x.cols; ++i) chosen(std::int64_t(r), i) = x(rows[r], i);
    return linear(rounded(rms_norm(chosen, norm_weight, eps), round), lm_head);
}

/// Rows of the embedding table [V, H].
inline Matrix embed(std::span<const std::int32_t> ids, const Matrix& embed_tokens) {
    Matrix x(std::int64_t(ids.size()), embed_tokens.cols);
    for (std::size_t m = 0; m < ids.size(); ++m)
        for (std::int64_t i = 0; i < x.cols; ++i) x(std::int64_t(m), i) = embed_tokens(ids[m], i);
    return x;
}

}  // namespace reference
