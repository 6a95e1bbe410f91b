#pragma once
#include "../core/error.hpp"
#include "../tensor/view.hpp"
#include <span>

namespace l3::inline v0 {

/// The room of embed for one dtype and device: ops/cpu/embed.hpp, ops/cuda/embed.cuh.
template <DType T, Device D>
struct Embed {
    static_assert(sizeof(T) == 0, "no embed for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

namespace ops {

/// The rows of the embedding of these tokens: x[m] = embed_tokens[tokens[m]], exact.
/// Shapes: x [M, H] f32; tokens [M]; embed_tokens [V, H] T.
/// Throws ShapeError; ArgumentError for a token outside of [0, V). Moves M*H * (sizeof(T) + 4) bytes.
template <DType T, Device D>
void embed(Context<D>& ctx, TensorView<f32, D> x, std::span<const Token> tokens, TensorView<const T, D> embed_tokens) {
    require(x.rows() == Index(tokens.size()), "embed: x has ", x.rows(), " rows for ", tokens.size(), " tokens");
    require(x.cols() == embed_tokens.cols(), "embed: x ", x, " does not fit embed_tokens ", embed_tokens);
    for (Token token : tokens)
        require<ArgumentError>(0 <= token && token < embed_tokens.rows(), "embed: token ", token, " is outside of [0, ",
                               embed_tokens.rows(), "), the vocabulary");
    Embed<T, D>::run(ctx, x, tokens, embed_tokens);
}

}  // namespace ops
}  // namespace l3::inline v0
