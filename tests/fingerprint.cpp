// Prints one hash per kernel over random inputs, and of the logits of tiny models: the numerics contract
// (docs/numerics.md) as one binary sees it. Every flavour of scripts/fingerprint prints the same lines; those that begin
// with # say what ran.
#include "support/random.hpp"
#include <cstdio>
#include <l3/device/cpu/context.hpp>
#include <l3/device/cpu/simd_math.hpp>
#include <l3/model/llama.hpp>
#include <l3/ops/cpu/ops.hpp>
#include <l3/session/sampler.hpp>
#include <l3/tensor/tensor.hpp>

using namespace l3;
using support::Random;

namespace {

// Function arguments are evaluated in any order: random tensors get names first.

/// FNV-1a over the bits of everything that is added.
struct Hash {
    std::uint64_t value = 0xCBF29CE484222325u;

    void add(std::uint64_t bits) { value = (value ^ bits) * 0x100000001B3u; }
    void add(f32 x) { add(std::uint64_t{std::bit_cast<std::uint32_t>(x)}); }
    void add(bf16 x) { add(std::uint64_t{x.bits}); }
    void add(double x) { add(std::bit_cast<std::uint64_t>(x)); }
    template <class T>
    void add(const TensorView<T, CPU>& t) { for (Index i = 0; i < t.numel(); ++i) add(t.data()[i]); }
    void print(const char* what, const char* dtype = "") const { std::printf("%-12s %-4s %016llx\n", what, dtype, static_cast<unsigned long long>(value)); }
};

Random random_{2024};

/// Numbers of very different sizes, some subnormal and some zero, so that an order of summation shows in every result.
template <class T>
T wide() {
    const auto exponent = random_.below(40) == 0 ? random_.below(4) : 112 + random_.below(24);
    const auto bits = std::uint32_t((random_.next() & 0x807FFFFFu) | std::uint64_t(exponent) << 23);
    if constexpr (std::is_same_v<T, bf16>) return bf16::from_bits(std::uint16_t(bits >> 16));
    else return std::bit_cast<f32>(bits);
}
template <class T>
Tensor<T, CPU> wide(const Shape& shape) {
    Tensor<T, CPU> t(shape);
    for (Index i = 0; i < t.numel(); ++i) t.data()[i] = wide<T>();
    return t;
}
/// Numbers in [-scale, scale), as weights and activations are.
template <class T>
Tensor<T, CPU> even(const Shape& shape, double scale = 1) {
    Tensor<T, CPU> t(shape);
    for (Index i = 0; i < t.numel(); ++i) t.data()[i] = T(f32(random_.uniform() * scale));
    return t;
}

template <class T>
void products(Context<CPU>& ctx) {
    Hash h;
    for (Index K : {1, 31, 32, 33, 500, 1024, 1055, 3000})
        for (Index M : {1, 2, 5, 50})
            for (Index N : {1, 6, 53}) {
                const auto a = wide<T>({M, K}), W = wide<T>({N, K});
                Tensor<f32, CPU> y({M, N});
                ops::linear<T, CPU>(ctx, y, a, W);
                h.add(y);
            }
    h.print("linear", dtype_name<T>);
}

template <class T>
void rows(Context<CPU>& ctx) {
    Hash h;
    for (Index H : {1, 20, 576, 1100}) {
        Tensor<T, CPU> y({9, H});
        const auto weight = wide<f32>({H}), x = wide<f32>({9, H}), gate = even<f32>({9, H}, 100), up = even<f32>({9, H}, 3);
        ops::rms_norm<T, CPU>(ctx, y, x, {weight, 1e-5f});
        h.add(y);
        ops::silu_mul<T, CPU>(ctx, y, gate, up);
        h.add(y);
    }
    h.print("norm, silu", dtype_name<T>);
}

template <class T>
void attention(Context<CPU>& ctx) {
    Hash h;
    for (auto [Nq, Nkv, Dh] : {std::tuple{4, 2, 16}, std::tuple{3, 1, 64}, std::tuple{2, 2, 6}, std::tuple{2, 1, 128}})
        for (Positions p : {Positions{0, 1}, Positions{0, 30}, Positions{255, 2}, Positions{700, 1}, Positions{500, 20}}) {
            const Index capacity = KVView<T, CPU>::round_capacity(p.end());
            const auto k = even<T>({KVView<T, CPU>::k_elements(Nkv, Dh, capacity)}, 2), v = even<T>({KVView<T, CPU>::v_elements(Nkv, Dh, capacity)});
            const auto q = even<T>({p.count, Nq * Dh}, 2);
            Tensor<T, CPU> out({p.count, Nq * Dh});
            ops::attention<T, CPU>(ctx, out, q, {k.data(), v.data(), Nkv, Dh, capacity}, p);
            h.add(out);
        }
    h.print("attention", dtype_name<T>);
}

template <class T>
void tiny_model(Context<CPU>& ctx) {
    LlamaConfig c;
    c.hidden_size = 72, c.intermediate_size = 200, c.num_hidden_layers = 2, c.num_attention_heads = 6, c.num_key_value_heads = 2;
    c.head_dim = 24, c.vocab_size = 131, c.max_position_embeddings = 512;
    std::vector<Tensor<T, CPU>> matrices;
    std::vector<Tensor<f32, CPU>> vectors;
    const auto matrix = [&](Index n, Index k) -> TensorView<const T, CPU> { return matrices.emplace_back(even<T>({n, k}, 0.3)); };
    const auto vector = [&](Index n) -> TensorView<const f32, CPU> { return vectors.emplace_back(even<f32>({n})); };
    LlamaWeights<T, CPU> w;
    w.embed_tokens = matrix(131, 72);
    w.lm_head = w.embed_tokens;
    w.norm = {vector(72), 1e-5f};
    for (int i = 0; i < 12; ++i) w.inv_freq.push_back(1.0 / (1 << i));
    for (int i = 0; i < c.num_hidden_layers; ++i) {
        LlamaLayer<T, CPU> layer;
        layer.input_layernorm = {vector(72), 1e-5f};
        layer.post_attention_layernorm = {vector(72), 1e-5f};
        layer.self_attn = {matrix(144, 72), matrix(48, 72), matrix(48, 72), matrix(72, 144), vector(144), vector(48), vector(48), vector(72), 6, 2, 24};
        layer.mlp = {matrix(200, 72), matrix(200, 72), matrix(72, 200), vector(200), vector(200), vector(72)};
        w.layers.push_back(layer);
    }
    KVCache<T, CPU> cache(c, 400);
    Activations<T, CPU> a;
    Hash h;
    for (int count : {1, 17, 1, 300, 1}) {
        const auto tokens = support::random_ids(count, 131, std::uint64_t(count));
        const int rows[] = {0, count - 1};
        forward(ctx, c, w, cache, a, std::span<const Token>(tokens), std::span(rows, count > 1 ? 2 : 1));
        h.add(a.logits);
    }
    h.print("tiny model", dtype_name<T>);
}

/// Ids drawn from logits of many sizes, and logits after penalties.
void sampling() {
    Hash h;
    const SamplingOptions each[] = {{.temperature = 1},
                                    {.temperature = 0.7, .top_k = 40},
                                    {.temperature = 1.3, .top_p = 0.9},
                                    {.temperature = 3, .min_p = 0.02},
                                    {.temperature = 0.9, .top_k = 300, .top_p = 0.95, .min_p = 0.001},
                                    {.temperature = 1, .repetition_penalty = 1.37, .frequency_penalty = 0.3,
                                     .presence_penalty = 0.7}};
    std::uint64_t seed = 0;
    for (SamplingOptions options : each) {
        options.seed = ++seed;
        Sampler sampler(options);
        std::vector<Token> ids;
        for (int i = 0; i < 60; ++i) {
            const auto logits = even<f32>({i % 2 ? 3000 : 300}, 8);
            ids.push_back(sampler.sample({logits.data(), std::size_t(logits.numel())}, ids, Index(ids.size() / 2)));
            if (ids.back() >= 300) ids.back() %= 300;
            h.add(std::uint64_t(ids.back()));
        }
        auto logits = even<f32>({3000}, 8);
        apply_penalties(options, {logits.data(), 3000}, ids, 30);
        h.add(logits);
    }
    h.print("sampling");
}

}  // namespace

template <class T>
static void all(Context<CPU>& ctx) {
    products<T>(ctx);
    rows<T>(ctx);
    attention<T>(ctx);
    tiny_model<T>(ctx);
}

int main() {
    Context<CPU> ctx(2);
    std::printf("# %s, %s\n", arch::native::name, __VERSION__);

    Hash exp;
    Tensor<f32, CPU> x = even<f32>({100000}, 100), y({100000});
    ctx.serial([&] {
        for (Index i = 0; i < x.numel(); i += simd::width<arch::native>)
            simd::store<arch::native>(y.data() + i, simd::exp<arch::native>(simd::load<arch::native>(x.data() + i)));
    });
    exp.add(y);
    for (Index i = 0; i < 1000; ++i) exp.add(simd::exp(x.data()[i]));
    exp.print("exp");

    Hash rope;
    std::vector<double> inv_freq;
    for (int i = 0; i < 32; ++i) inv_freq.push_back(elementary::pow(500000.0, -i / 32.0));
    for (double f : inv_freq) rope.add(f);
    Tensor<f32, CPU> cos({40, 32}), sin({40, 32});
    for (Index first : {0, 4000, 1000000}) {
        ops::rope_table<CPU>(ctx, cos, sin, inv_freq, {first, 40});
        rope.add(cos);
        rope.add(sin);
        Tensor<f32, CPU> heads = wide<f32>({40, 128});
        ops::rope<CPU>(ctx, heads, {cos, sin});
        rope.add(heads);
    }
    rope.print("rope");

    Hash rounding;
    Tensor<bf16, CPU> r({64});
    ctx.serial([&] {
        for (int i = 0; i < 20000; ++i) {
            const auto some = wide<f32>({64});
            for (Index j = 0; j < 64; j += simd::width<arch::native>) simd::store<arch::native>(r.data() + j, simd::load<arch::native>(some.data() + j));
            rounding.add(r);
        }
    });
    rounding.print("rounding");

    all<bf16>(ctx);
    all<f32>(ctx);
    sampling();
}
