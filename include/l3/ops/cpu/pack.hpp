#pragma once
#include "../../device/cpu/context.hpp"
#include "../../device/cpu/simd_bf16.hpp"
#include "../../device/cpu/simd_f32.hpp"
#include "../../tensor/view.hpp"

namespace l3::inline v0::cpu {

/// Tokens and rows of W in a tile of the matrix product: as many accumulators as the registers hold.
template <class A> inline constexpr int tile_tokens = A::register_count == 32 ? 4 : 3;
template <class A> inline constexpr int tile_rows = A::register_count == 32 ? 6 : 4;

/// The inputs of a matrix product [M, K] as its kernels read them: rounded to T, widened where the processor has no
/// products of bf16, zeros up to whole steps and whole tiles. Layout:
/// [chunk of K][block of tokens][part][step][register of a part][token][register].
template <DType T, class A = arch::native>
class PackedInput {
  public:
    using Dot = simd::Dot<T, A>;
    using Input = typename Dot::Input;

    PackedInput(Input* data, Index tokens, Index K)
        : data_(data), M_(tokens), K_(K), block_(tokens == 1 ? 1 : tile_tokens<A>) {}
    /// In the scratch memory of a context, where it stays until the next one.
    PackedInput(Context<CPU>& ctx, Index tokens, Index K) : PackedInput(nullptr, tokens, K) {
        data_ = ctx.scratch<Input>(Scratch::packed_input, blocks() * block_ * padded());
    }

    [[nodiscard]] Index tokens() const { return M_; }
    [[nodiscard]] Index K() const { return K_; }
    /// Tokens of a block: those of a tile, or 1 if there is only one token.
    [[nodiscard]] int block_tokens() const { return block_; }
    [[nodiscard]] Index blocks() const { return ceil_div<Index>(M_, block_); }
    /// Steps of the chunk of K that begins at element k.
    [[nodiscard]] Index steps(Index k) const {
        const Index elements = K_ - k < simd::dot_chunk ? K_ - k : simd::dot_chunk;
        return ceil_div<Index>(elements, Dot::step);
    }
    [[nodiscard]] Input* chunk(Index block, Index k) const {
        return data_ + (k * blocks() + block * steps(k) * Dot::step) * block_;
    }

    /// Packs one token; every token of [0, blocks() * block_tokens()) has to be, x = nullptr for those beyond M.
    void pack(Index token, const T* x) const { pack_token(*this, token, x); }

  private:
    [[nodiscard]] Index padded() const { return align_up<Index>(K_, Dot::step); }

    L3_NOINLINE static void pack_token(const PackedInput& self, Index token, const T* x) {
        constexpr int part = Dot::part, packed = Dot::packed;
        const Index block = token / self.block_, within = token % self.block_, stride = self.block_ * packed;
        for (Index k = 0; k < self.K_; k += simd::dot_chunk) {
            const Index steps = self.steps(k);
            Input* out = self.chunk(block, k) + within * packed;
            for (Index s = 0; s < steps; ++s) {
                alignas(64) simd::Row<T, Dot::step> padded = {};
                const T* from = padded;
                const Index begin = k + s * Dot::step, left = self.K_ - begin;
                if (x && left >= Dot::step) from = x + begin;
                else if (x) std::memcpy(padded, x + begin, std::size_t(left) * sizeof(T));
                L3_UNROLL
                for (int p = 0; p < simd::parts<A>; ++p)
                    Dot::pack(out + (Index{p} * steps + s) * self.block_ * part, from + p * part, stride);
            }
        }
    }

    Input* data_;
    Index M_, K_;
    int block_;
};

/// Packs the rows of a matrix of T, on all threads.
template <DType T>
PackedInput<T> pack(Context<CPU>& ctx, TensorView<const T, CPU> x) {
    const PackedInput<T> packed(ctx, x.rows(), x.cols());
    ctx.parallel(packed.blocks() * packed.block_tokens(), rows_per_thread(x.cols()), [&](Index begin, Index end, int) {
        for (Index m = begin; m < end; ++m) packed.pack(m, m < x.rows() ? x.row(m) : nullptr);
    });
    return packed;
}

}  // namespace l3::inline v0::cpu
