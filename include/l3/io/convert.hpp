#pragma once
// From what files store to what models compute with. Loading calls this for ranges of rows, on all threads.
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "../dtype/dtype.hpp"
#include "stored_tensor.hpp"
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace l3::inline v0::io {

/// f16 to f32: exact, subnormals included; NaN keeps its bits. Selects by masks, so that compilers make SIMD of loops.
[[nodiscard]] L3_INLINE constexpr f32 f16_to_f32(std::uint16_t bits) {
    const std::uint32_t magnitude = bits & 0x7FFFu, sign = std::uint32_t(bits & 0x8000u) << 16;
    const auto subnormal = std::bit_cast<std::uint32_t>(f32(std::int32_t(magnitude)) * 0x1p-24f);
    const std::uint32_t special = (0u - std::uint32_t(magnitude >= 0x7C00u)) & (112u << 23);  // infinity and NaN
    const std::uint32_t normal = (magnitude << 13) + (112u << 23) + special;
    const std::uint32_t is_subnormal = 0u - std::uint32_t(magnitude < 0x0400u);
    return std::bit_cast<f32>(sign | (subnormal & is_subnormal) | (normal & ~is_subnormal));
}

/// True for the types that convert_rows reads: F32, F16, BF16, Q8_0, Q4_0, Q4_1.
[[nodiscard]] constexpr bool can_convert(StorageType type) {
    switch (type) {
        case StorageType::f32:
        case StorageType::f16:
        case StorageType::bf16:
        case StorageType::q8_0:
        case StorageType::q4_0:
        case StorageType::q4_1: return true;
        default: return false;
    }
}

/// True if the bytes of a tensor are elements of T as they lie, aligned to T: it needs no copy.
template <DType T>
[[nodiscard]] bool usable_in_place(const StoredTensor& tensor) {
    constexpr StorageType same = std::same_as<T, bf16> ? StorageType::bf16 : StorageType::f32;
    return tensor.type == same && reinterpret_cast<std::uintptr_t>(tensor.data.data()) % alignof(T) == 0;
}

namespace detail {

/// Elements that are converted together: a block of the quantised types, and a loop that the compiler can unroll.
inline constexpr int convert_block = 32;

/// One block from storage to f32. The products of the quantised types are exact (11 bits of scale by at most 8 of
/// quantum, far from the ends of f32's range), so contracting `q * d + m` to an fma changes no bit.
/// Source: ggml-quants.c, dequantize_row_q8_0, _q4_0, _q4_1.
template <StorageType S>
L3_INLINE void block_to_f32(const std::byte* in, f32* out) {
    constexpr int half = convert_block / 2;
    if constexpr (S == StorageType::f32) {
        std::memcpy(out, in, convert_block * sizeof(f32));
    } else if constexpr (S == StorageType::f16 || S == StorageType::bf16) {
        std::uint16_t bits[convert_block];
        std::memcpy(bits, in, sizeof bits);
        for (int i = 0; i < convert_block; ++i)
            out[i] = S == StorageType::f16 ? f16_to_f32(bits[i]) : std::bit_cast<f32>(std::uint32_t{bits[i]} << 16);
    } else if constexpr (S == StorageType::q8_0) {  // scale f16, 32 int8
        std::uint16_t scale;
        std::int8_t quanta[convert_block];
        std::memcpy(&scale, in, sizeof scale);
        std::memcpy(quanta, in + 2, sizeof quanta);
        const f32 d = f16_to_f32(scale);
        for (int i = 0; i < convert_block; ++i) out[i] = f32(quanta[i]) * d;
    } else {  // scale f16; Q4_1: minimum f16; 16 bytes: elements i and i + 16 in the low and high half of byte i
        static_assert(S == StorageType::q4_0 || S == StorageType::q4_1);
        constexpr bool has_minimum = S == StorageType::q4_1;
        std::uint16_t scale, minimum = 0;
        std::uint8_t quanta[half];
        std::memcpy(&scale, in, sizeof scale);
        if constexpr (has_minimum) std::memcpy(&minimum, in + 2, sizeof minimum);
        std::memcpy(quanta, in + (has_minimum ? 4 : 2), sizeof quanta);
        const f32 d = f16_to_f32(scale), m = f16_to_f32(minimum);
        for (int i = 0; i < half; ++i) {
            const int low = quanta[i] & 15, high = quanta[i] >> 4;
            out[i] = has_minimum ? f32(low) * d + m : f32(low - 8) * d;
            out[i + half] = has_minimum ? f32(high) * d + m : f32(high - 8) * d;
        }
    }
}

/// n elements from storage to T. T equal to the storage: a plain copy of the bytes.
template <StorageType S, DType T>
L3_NOINLINE void convert(const std::byte* in, Index n, T* out) noexcept {
    if constexpr ((S == StorageType::f32 && std::same_as<T, f32>) ||
                  (S == StorageType::bf16 && std::same_as<T, bf16>)) {
        if (n > 0) std::memcpy(out, in, static_cast<std::size_t>(n) * sizeof(T));
        return;
    }
    constexpr StorageInfo info = storage_info(S);
    constexpr std::size_t block_bytes =
        std::size_t(convert_block / info.block_elements) * std::size_t(info.block_bytes);
    alignas(64) f32 values[convert_block];
    const auto store = [&values](T* to) {
        for (int i = 0; i < convert_block; ++i) to[i] = T(values[i]);
    };
    for (; n >= convert_block; n -= convert_block, in += block_bytes, out += convert_block) {
        block_to_f32<S>(in, values);
        store(out);
    }
    if (n > 0) {  // only of types whose block is one element
        std::byte padded[block_bytes] = {};
        T converted[convert_block];
        std::memcpy(padded, in, static_cast<std::size_t>(n) * std::size_t(info.block_bytes));
        block_to_f32<S>(padded, values);
        store(converted);
        std::memcpy(out, converted, static_cast<std::size_t>(n) * sizeof(T));
    }
}

}  // namespace detail

/// Converts rows [row_begin, row_end) of a tensor, seen as the matrix [shape.rows(), shape.cols()], into out
/// [row_end - row_begin, cols]. Every value is exact in f32, and rounded once if T is bf16 (to nearest even).
/// Throws UnsupportedError naming tensor and type (see can_convert), ShapeError for rows that are not there.
template <DType T>
void convert_rows(const StoredTensor& tensor, Index row_begin, Index row_end, T* out) {
    if (row_begin < 0 || row_begin > row_end || row_end > tensor.shape.rows())
        fail<ShapeError>(tensor.where(), " has the shape ", tensor.shape, "; rows ", row_begin, " to ", row_end,
                         " were asked for");
    if (!can_convert(tensor.type))
        fail<UnsupportedError>(tensor.where(), " has the type ", storage_name(tensor.type),
                               "; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are read");
    const Index n = (row_end - row_begin) * tensor.shape.cols();
    const std::byte* const in = tensor.data.data() + row_begin * tensor.row_bytes();
    switch (tensor.type) {
        case StorageType::f32: return detail::convert<StorageType::f32>(in, n, out);
        case StorageType::f16: return detail::convert<StorageType::f16>(in, n, out);
        case StorageType::bf16: return detail::convert<StorageType::bf16>(in, n, out);
        case StorageType::q8_0: return detail::convert<StorageType::q8_0>(in, n, out);
        case StorageType::q4_0: return detail::convert<StorageType::q4_0>(in, n, out);
        case StorageType::q4_1: return detail::convert<StorageType::q4_1>(in, n, out);
        default: return;
    }
}

}  // namespace l3::inline v0::io
