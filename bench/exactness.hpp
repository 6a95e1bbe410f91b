#pragma once
// The price of the canonical order of sums (docs/numerics.md): l3's product beside one in a free order.
#include "free_order.hpp"
#include "limits.hpp"
#include "subject.hpp"

namespace bench {

/// A matrix of a layer.
struct LayerMatrix {
    const char* name;
    Index rows, cols;
};

/// The matrices of a layer that differ in shape: v_proj is like k_proj, up_proj like gate_proj.
inline std::vector<LayerMatrix> layer_matrices(const LlamaConfig& c) {
    const Index H = c.hidden_size, F = c.intermediate_size;
    const Index q = Index{c.num_attention_heads} * c.head_dim, kv = Index{c.num_key_value_heads} * c.head_dim;
    return {{"q_proj", q, H}, {"k_proj", kv, H}, {"o_proj", H, q}, {"gate_proj", F, H}, {"down_proj", H, F}};
}

/// What a product takes in both orders: medians.
struct Price {
    LayerMatrix matrix;
    Index tokens = 0;
    int threads = 0;
    double l3_ms = 0, free_ms = 0;

    [[nodiscard]] double ratio() const { return l3_ms / free_ms; }
};

/// Products of random matrices, timed in turn. Inputs are packed beforehand for both; the free order has its weights
/// packed beforehand too (for several tokens), while l3 packs them as it goes: the price is at most what is measured.
template <DType T>
class Exactness {
  public:
    explicit Exactness(const LlamaConfig& config)
        : matrices_(layer_matrices(config)), weights_(count_for(matrices_)) {
        Context<CPU> ctx;
        fill_random(ctx, weights_.data(), weights_.count(), scale, 1);
    }

    [[nodiscard]] const std::vector<LayerMatrix>& matrices() const { return matrices_; }

    /// Throws Error if the two products differ by more than rounding.
    Price price(Context<CPU>& ctx, const LayerMatrix& matrix, Index tokens, int repeats) const {
        using A = arch::native;
        const Index N = matrix.rows, K = matrix.cols;
        const Tensor<T, CPU> inputs({tokens, K});
        fill_random(ctx, inputs.data(), inputs.numel(), 1, 2);
        const auto packed = cpu::pack<T>(ctx, inputs);
        const Index ld = align_up<Index>(N, free_order::tile_rows<A>);
        const Index padded_tokens = align_up<Index>(tokens, free_order::tile_tokens<A>);
        const Tensor<f32, CPU> canonical({tokens, ld}), any({padded_tokens, ld});
        const auto l3_product = [&](Index copy) {
            cpu::gemm<T>(ctx, packed, weights(matrix, copy), [&](Index m, Index first, Index rows, const f32* dots) {
                std::memcpy(canonical.row(m) + first, dots, std::size_t(rows) * sizeof(f32));
            });
        };
        std::pair<double, double> ms;
        if (tokens == 1) {
            // One after the other through memory, as a decoded token reads them.
            const Index copies = weights_.count() / (N * K);
            using Input = free_order::Input<T, A>;
            const Tensor<Input, CPU> x({K});
            std::transform(inputs.data(), inputs.data() + K, x.data(), [](T v) { return Input(f32(v)); });
            const auto free_product = [&](Index copy) {
                const TensorView<const T, CPU> W = weights(matrix, copy);
                ctx.parallel(N, ceil_div(work_per_thread, K), [&](Index begin, Index end, int) {
                    free_order::gemv<A, T>(W, begin, end, x.data(), any.data());
                });
            };
            ms = in_turn(copies, repeats, l3_product, free_product);
        } else {
            const free_order::PackedInputs<T, A> x(ctx, inputs);
            const free_order::PackedWeights<T, A> W(ctx, weights(matrix, 0));
            ms = in_turn(1, repeats, l3_product, [&](Index) { free_order::gemm<T, A>(ctx, x, W, any.data(), ld); });
        }
        check(matrix, canonical, any);
        return {matrix, tokens, ctx.threads(), ms.first, ms.second};
    }

  private:
    static constexpr f32 scale = 1.0f / 64;

    /// Elements for the largest matrix, and more than the caches hold.
    static Index count_for(const std::vector<LayerMatrix>& matrices) {
        const Index cache = sysconf(_SC_LEVEL3_CACHE_SIZE);
        Index count = (cache > 0 ? 2 * cache : Index{256} << 20) / Index{sizeof(T)};
        for (const LayerMatrix& m : matrices) count = std::max(count, m.rows * m.cols);
        return count;
    }
    [[nodiscard]] TensorView<const T, CPU> weights(const LayerMatrix& m, Index copy) const {
        return {weights_.data() + copy * m.rows * m.cols, {m.rows, m.cols}};
    }

    /// Median milliseconds of a call of each, over passes of so many calls that take turns, after one to warm up.
    template <class F, class G>
    static std::pair<double, double> in_turn(Index calls, int repeats, const F& f, const G& g) {
        const auto pass = [calls](const auto& product) {
            return 1e3 / double(calls) * seconds([&] {
                for (Index i = 0; i < calls; ++i) product(i);
            });
        };
        std::vector<double> of_f, of_g;
        for (int i = -1; i < repeats; ++i) {
            const double f_ms = pass(f), g_ms = pass(g);
            if (i < 0) continue;
            of_f.push_back(f_ms);
            of_g.push_back(g_ms);
        }
        return {median(of_f), median(of_g)};
    }

    /// |x| is at most 1 and |w| at most scale, so a sum of K products in any order is within K * 2^-24 * K * scale.
    static void check(const LayerMatrix& m, TensorView<const f32, CPU> canonical, TensorView<const f32, CPU> any) {
        const double bound = 2 * double(m.cols) * 0x1p-24 * double(m.cols) * double(scale);
        for (Index token = 0; token < canonical.rows(); ++token)
            for (Index n = 0; n < m.rows; ++n)
                require<Error>(std::fabs(double(canonical.row(token)[n]) - double(any.row(token)[n])) <= bound, m.name,
                               ": row ", n, " of token ", token, " is ", canonical.row(token)[n],
                               " in the canonical order, but ", any.row(token)[n], " in a free one");
    }

    std::vector<LayerMatrix> matrices_;
    Buffer<T, CPU> weights_;
};

}  // namespace bench
