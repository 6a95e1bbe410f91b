#include <doctest/doctest.h>
#include <l3/device/cpu/memory.hpp>
#include <l3/model/llama_weights.hpp>
#include <type_traits>

using namespace l3;

TEST_CASE_TEMPLATE("LlamaWeights are views and what they look at: moved, not copied", T, bf16, f32) {
    static_assert(std::is_nothrow_move_constructible_v<LlamaWeights<T, CPU>>);
    LlamaWeights<T, CPU> w;
    w.embed_tokens = w.matrices.emplace_back(Shape{5, 4});
    w.lm_head = w.embed_tokens;
    w.copied_bytes = w.embed_tokens.nbytes();
    const LlamaWeights<T, CPU> moved = std::move(w);
    CHECK(moved.lm_head.data() == moved.matrices[0].data());
    CHECK(moved.nbytes() == 20 * sizeof(T));
    const LlamaLayer<T, CPU> layer;
    CHECK_FALSE(layer.self_attn.q_bias);  // absent unless given
    CHECK_FALSE(layer.mlp.down_bias);
}
