#pragma once
#include "../../device/cpu/context.hpp"
#include "../argmax.hpp"
#include <cmath>

namespace l3::inline v0 {

template <>
struct ArgMax<CPU> {
    static Token run(Context<CPU>& ctx, TensorView<const f32, CPU> logits) {
        Index best = 0;
        ctx.serial([&] {
            const f32* x = logits.data();
            for (Index i = 1; i < logits.numel(); ++i)
                if (x[i] > x[best] || (std::isnan(x[best]) && !std::isnan(x[i]))) best = i;
        });
        return Token(best);
    }
};

}  // namespace l3::inline v0
