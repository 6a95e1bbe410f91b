#pragma once
// The matrix product in whatever order of sums is fastest: what exactness.hpp compares l3's with.
#include <cstring>
#include <l3/device/cpu/context.hpp>
#include <l3/device/cpu/simd_bf16.hpp>
#include <l3/device/cpu/simd_f32.hpp>
#include <l3/tensor/view.hpp>

namespace bench::free_order {

using namespace l3;

/// Whether products of T are one instruction for pairs of them.
template <DType T, class A> inline constexpr bool pairs = std::same_as<T, bf16> && arch::has_bf16_dot<A>;
/// What inputs of gemv are: widened, unless the processor multiplies T.
template <DType T, class A> using Input = std::conditional_t<pairs<T, A>, bf16, f32>;

/// sums[r] += the next elements of row r times those of x, as many as a register has.
template <class A, DType T, int R>
L3_INLINE void add_products(simd::Grid<simd::F<A>, 1, R>& sums, const Input<T, A>* x, const simd::Row<const T*, R>& w) {
    if constexpr (std::same_as<T, bf16> && !pairs<T, A>) {
        const simd::F<A> xs = simd::load<A>(x);
        L3_UNROLL
        for (int r = 0; r < R; ++r) sums[0][r] = simd::fma<A>(simd::load<A>(w[r]), xs, sums[0][r]);
    } else {
        simd::Dot<T, A>::template accumulate<1, R>(sums, x, w);
    }
}

/// dots[n] = row n of W times x, for rows [begin, end): elements in their natural order, the sums of a row added up at
/// its end.
template <class A, DType T>
L3_NOINLINE void gemv(TensorView<const T, CPU> W, Index begin, Index end, const Input<T, A>* x, f32* dots) {
    constexpr int width = simd::width<A>, step = pairs<T, A> ? 2 * width : width;
    constexpr int R = 4, U = 2;  // rows at a time, sums of each
    const Index K = W.cols();
    for (Index n = begin; n < end; n += R) {
        simd::Row<const T*, R> w;
        for (int r = 0; r < R; ++r) w[r] = W.row(n + r < end ? n + r : n);
        simd::Row<simd::Grid<simd::F<A>, 1, R>, U> sums;
        L3_UNROLL
        for (int u = 0; u < U; ++u)
            L3_UNROLL
            for (int r = 0; r < R; ++r) sums[u][0][r] = simd::F<A>(0.0f);
        Index k = 0;
        for (; k + U * step <= K; k += U * step) {
            L3_UNROLL
            for (int r = 0; r < R; ++r) __builtin_prefetch(w[r] + R * K, 0, 3);
            L3_UNROLL
            for (int u = 0; u < U; ++u) {
                add_products<A, T, R>(sums[u], x + k + u * step, w);
                L3_UNROLL
                for (int r = 0; r < R; ++r) w[r] += step;
            }
        }
        for (int r = 0; r < R && n + r < end; ++r) {
            simd::Row<f32, width> lanes;
            simd::store<A>(lanes, sums[0][0][r] + sums[1][0][r]);
            f32 dot = 0;
            for (f32 lane : lanes) dot += lane;
            for (Index i = k; i < K; ++i) dot += f32(W.row(n + r)[i]) * f32(x[i]);
            dots[n + r] = dot;
        }
    }
}

/// Tokens and rows of W in a tile of gemm: two registers of rows, and as many tokens as the registers hold sums.
template <class A> inline constexpr int tile_tokens = A::register_count == 32 ? 12 : 6;
template <class A> inline constexpr int tile_rows = 2 * simd::width<A>;

/// A matrix as tiles read it, in words of 32 bits: an element as f32, or a pair of bf16.
/// Layout: [block of N rows][word of a row][row of the block]; zeros up to whole blocks and words.
template <DType T, class A, int N>
class Packed {
  public:
    Packed(Context<CPU>& ctx, TensorView<const T, CPU> matrix)
        : words_(ceil_div<Index>(matrix.cols(), elements)), data_(align_up<Index>(matrix.rows(), N) * words_) {
        ctx.parallel(blocks(), 1, [&](Index begin, Index end, int) {
            for (Index m = begin * N; m < std::min(end * N, matrix.rows()); ++m)
                for (Index i = 0; i < words_; ++i) at(m / N, i)[m % N] = word(matrix.row(m), i, matrix.cols());
        });
    }

    [[nodiscard]] Index words() const { return words_; }
    [[nodiscard]] Index blocks() const { return data_.count() / (words_ * N); }
    [[nodiscard]] f32* at(Index block, Index word) const { return data_.data() + (block * words_ + word) * N; }

  private:
    static constexpr int elements = pairs<T, A> ? 2 : 1;

    static f32 word(const T* row, Index i, Index K) {
        if constexpr (pairs<T, A>) {
            const T both[2] = {row[2 * i], 2 * i + 1 < K ? row[2 * i + 1] : T(0.0f)};
            f32 w;
            std::memcpy(&w, both, sizeof w);
            return w;
        } else {
            return f32(row[i]);
        }
    }

    Index words_;
    Buffer<f32, CPU> data_;
};
template <DType T, class A> using PackedInputs = Packed<T, A, tile_tokens<A>>;
template <DType T, class A> using PackedWeights = Packed<T, A, tile_rows<A>>;

/// out[token * ld + row] (+)= the products of some words of a block of tokens and a block of rows: each word of a token
/// is broadcast, and multiplied by those of all rows.
template <class A, bool in_pairs>
L3_NOINLINE void tile(const f32* x, const f32* w, Index words, bool first, f32* out, Index ld) {
    using F = simd::F<A>;
    constexpr int M = tile_tokens<A>, N = 2, width = simd::width<A>;
    const auto multiply_add = [](F a, F b, F sum) {
#if defined(__AVX512BF16__) && defined(__AVX512VL__)
        if constexpr (in_pairs) return F(_mm512_dpbf16_ps(sum, (__m512bh)a.data, (__m512bh)b.data));
        else
#endif
            return simd::fma<A>(a, b, sum);
    };
    simd::Grid<F, M, N> sums;
    L3_UNROLL
    for (int m = 0; m < M; ++m)
        L3_UNROLL
        for (int n = 0; n < N; ++n) sums[m][n] = first ? F(0.0f) : simd::load<A>(out + m * ld + n * width);
    for (Index i = 0; i < words; ++i, x += M, w += N * width) {
        const F w0 = simd::opaque(simd::load<A>(w)), w1 = simd::opaque(simd::load<A>(w + width));
        L3_UNROLL
        for (int m = 0; m < M; ++m) {
            const F xs = simd::opaque(F(x[m]));
            sums[m][0] = multiply_add(w0, xs, sums[m][0]);
            sums[m][1] = multiply_add(w1, xs, sums[m][1]);
        }
    }
    L3_UNROLL
    for (int m = 0; m < M; ++m)
        L3_UNROLL
        for (int n = 0; n < N; ++n) simd::store<A>(out + m * ld + n * width, sums[m][n]);
}

/// out = x * W^T, row-major, with room for whole tiles; ld: floats from one token to the next.
template <DType T, class A>
void gemm(Context<CPU>& ctx, const PackedInputs<T, A>& x, const PackedWeights<T, A>& W, f32* out, Index ld) {
    constexpr Index words = 256;  // whose rows stay in the first-level cache, while all tokens pass by
    ctx.parallel(W.blocks(), 1, [&](Index begin, Index end, int) {
        for (Index block = begin; block < end; ++block)
            for (Index i = 0; i < W.words(); i += words)
                for (Index b = 0; b < x.blocks(); ++b)
                    tile<A, pairs<T, A>>(x.at(b, i), W.at(block, i), std::min(words, W.words() - i), i == 0,
                                         out + b * tile_tokens<A> * ld + block * tile_rows<A>, ld);
    });
}

}  // namespace bench::free_order
