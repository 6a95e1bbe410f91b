#pragma once
#include "../device/cpu/memory.hpp"
#include "tensor.hpp"
#include <cstring>

namespace l3::inline v0 {

/// Copies the elements of one tensor to another of the same shape; from f32 to bf16 each is rounded to nearest even,
/// from bf16 to f32 exact. They do not overlap. Throws ShapeError.
template <DType To, class From>
    requires DType<std::remove_const_t<From>>
void copy(TensorView<To, CPU> to, TensorView<From, CPU> from) {
    require(to.shape() == from.shape(), "copy: ", from, " to ", to);
    if constexpr (std::is_same_v<To, std::remove_const_t<From>>) {
        if (!to.empty()) std::memcpy(to.data(), from.data(), to.nbytes());
    } else {
        for (Index i = 0; i < to.numel(); ++i) to.data()[i] = To(from.data()[i]);
    }
}

}  // namespace l3::inline v0
