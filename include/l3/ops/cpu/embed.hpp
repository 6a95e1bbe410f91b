#pragma once
#include "../../device/cpu/context.hpp"
#include "../embed.hpp"

namespace l3::inline v0 {

template <DType T>
struct Embed<T, CPU> {
    static void run(Context<CPU>& ctx, TensorView<f32, CPU> x, std::span<const Token> tokens,
                    TensorView<const T, CPU> embed_tokens) {
        ctx.parallel(x.rows(), rows_per_thread(x.cols()), [&](Index begin, Index end, int) {
            for (Index m = begin; m < end; ++m) {
                const T* row = embed_tokens.row(tokens[std::size_t(m)]);
                for (Index i = 0; i < x.cols(); ++i) x.row(m)[i] = f32(row[i]);
            }
        });
    }
};

}  // namespace l3::inline v0
