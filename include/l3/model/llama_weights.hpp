#pragma once
#include "../ops/norm_gate_up.hpp"
#include "../ops/norm_qkv.hpp"
#include "../tensor/tensor.hpp"
#include <cstdint>
#include <memory>
#include <vector>

namespace l3::inline v0 {

namespace io { class MappedFile; }

/// One decoder layer, named as in the checkpoint. The parts are defined beside the operations that read them.
template <DType T, Device D>
struct LlamaLayer {
    Norm<D> input_layernorm;           // [H]
    SelfAttention<T, D> self_attn;     // q_proj [Nq*Dh, H], k_proj, v_proj [Nkv*Dh, H], o_proj [H, Nq*Dh], biases
    Norm<D> post_attention_layernorm;  // [H]
    MLP<T, D> mlp;                     // gate_proj, up_proj [F, H], down_proj [H, F], biases
};

/// All weights of a model: views, and what they look at. Matrices are T, vectors f32; immutable once loaded.
template <DType T, Device D>
struct LlamaWeights {
    TensorView<const T, D> embed_tokens;   // [V, H]
    std::vector<LlamaLayer<T, D>> layers;
    Norm<D> norm;                          // [H]
    TensorView<const T, D> lm_head;        // [V, H]; of tied models embed_tokens itself
    std::vector<double> inv_freq;          // [Dh/2], radians per position

    std::vector<Tensor<T, D>> matrices;    // what was copied: converted, or rows of q and k put in order
    std::vector<Tensor<f32, D>> vectors;
    std::vector<std::shared_ptr<const io::MappedFile>> files;  // what is used where it lies
    std::uint64_t in_place_bytes = 0;
    std::uint64_t copied_bytes = 0;

    /// The bytes of all weights; a matrix that is used twice counts once.
    [[nodiscard]] std::uint64_t nbytes() const { return in_place_bytes + copied_bytes; }
};

}  // namespace l3::inline v0
