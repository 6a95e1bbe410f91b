#pragma once
#include "../tensor/view.hpp"
#include "llama_config.hpp"

namespace l3::inline v0 {

/// What one evaluation keeps between its operations. The memory grows with the largest call so far and is used again;
/// the views are those of the last prepare().
template <DType T, Device D>
class Activations {
  public:
    TensorView<f32, D> x;         // [M, H], the residual stream
    TensorView<f32, D> cos, sin;  // [M, Dh/2], the rotary table of the positions
    TensorView<T, D> q;           // [M, Nq*Dh]
    TensorView<T, D> attn;        // [M, Nq*Dh]
    TensorView<T, D> h;           // [M, F]
    TensorView<f32, D> logits;    // [R, V], of the rows asked for

    /// Makes room for M tokens, R of them with logits. Throws OutOfMemoryError; what was there is then gone.
    void prepare(const LlamaConfig& c, Index M, Index R) {
        const Index heads = Index{c.num_attention_heads} * c.head_dim;
        grow(x, x_, {M, c.hidden_size});
        grow(cos, cos_, {M, c.head_dim / 2});
        grow(sin, sin_, {M, c.head_dim / 2});
        grow(q, q_, {M, heads});
        grow(attn, attn_, {M, heads});
        grow(h, h_, {M, c.intermediate_size});
        grow(logits, logits_, {R, c.vocab_size});
    }

    /// The bytes that prepare() takes.
    [[nodiscard]] static std::uint64_t bytes_needed(const LlamaConfig& c, Index M, Index R) {
        const auto size = [](Index n) { return std::uint64_t(n); };
        const auto f32s = size(M) * (size(c.hidden_size) + size(c.head_dim)) + size(R) * size(c.vocab_size);
        const auto Ts = size(M) * (2 * size(c.num_attention_heads) * size(c.head_dim) + size(c.intermediate_size));
        return f32s * sizeof(f32) + Ts * sizeof(T);
    }

  private:
    template <class E>
    static void grow(TensorView<E, D>& view, Buffer<E, D>& buffer, const Shape& shape) {
        if (buffer.count() < shape.numel()) {
            view = {};
            buffer = {};  // gone before the larger one comes
            buffer = Buffer<E, D>(shape.numel());
        }
        view = {buffer.data(), shape};
    }

    Buffer<f32, D> x_, cos_, sin_, logits_;
    Buffer<T, D> q_, attn_, h_;
};

}  // namespace l3::inline v0
