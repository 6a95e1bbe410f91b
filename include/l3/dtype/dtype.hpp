#pragma once
#include "bf16.hpp"
#include <concepts>

namespace l3::inline v0 {

/// What a model computes with: the type of weights, of inputs of matrix products, and of the KV cache. bf16 or f32.
template <class T>
concept DType = std::same_as<T, bf16> || std::same_as<T, f32>;

template <DType T>
inline constexpr const char* dtype_name = std::same_as<T, bf16> ? "bf16" : "f32";

}  // namespace l3::inline v0
