#pragma once
// The element types that model files store. More are known by name and size than can be converted: a file may hold
// tensors nobody asks for, and its extents must be checked all the same.
#include "../core/math.hpp"
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace l3::inline v0::io {

/// How the elements of a tensor are stored. Names are those of the formats (safetensors, ggml).
// clang-format off
enum class StorageType : std::uint8_t {
    f32, f16, bf16, f64, i8, i16, i32, i64, u8, u16, u32, u64, boolean, c64,
    f8_e4m3, f8_e5m2, f8_e8m0, f6_e2m3, f6_e3m2, f4,
    q4_0, q4_1, q5_0, q5_1, q8_0, q8_1, q2_k, q3_k, q4_k, q5_k, q6_k, q8_k,
    iq2_xxs, iq2_xs, iq3_xxs, iq1_s, iq4_nl, iq3_s, iq2_s, iq4_xs, iq1_m, tq1_0, tq2_0, mxfp4,
};
// clang-format on

/// The name of a type and its block: the smallest run of elements that is stored as a whole.
struct StorageInfo {
    StorageType type;
    std::string_view name;
    int block_elements;
    int block_bytes;
    int ggml_number;  // in GGUF files; -1: not in GGUF
    bool in_safetensors;
};

/// In the order of the enumeration.
/// Sources: README of safetensors; ggml.h (enum ggml_type) and ggml-common.h (the structs of the blocks).
inline constexpr auto storage_types = std::to_array<StorageInfo>({
    {StorageType::f32, "F32", 1, 4, 0, true},
    {StorageType::f16, "F16", 1, 2, 1, true},
    {StorageType::bf16, "BF16", 1, 2, 30, true},
    {StorageType::f64, "F64", 1, 8, 28, true},
    {StorageType::i8, "I8", 1, 1, 24, true},
    {StorageType::i16, "I16", 1, 2, 25, true},
    {StorageType::i32, "I32", 1, 4, 26, true},
    {StorageType::i64, "I64", 1, 8, 27, true},
    {StorageType::u8, "U8", 1, 1, -1, true},
    {StorageType::u16, "U16", 1, 2, -1, true},
    {StorageType::u32, "U32", 1, 4, -1, true},
    {StorageType::u64, "U64", 1, 8, -1, true},
    {StorageType::boolean, "BOOL", 1, 1, -1, true},
    {StorageType::c64, "C64", 1, 8, -1, true},
    {StorageType::f8_e4m3, "F8_E4M3", 1, 1, -1, true},
    {StorageType::f8_e5m2, "F8_E5M2", 1, 1, -1, true},
    {StorageType::f8_e8m0, "F8_E8M0", 1, 1, -1, true},
    {StorageType::f6_e2m3, "F6_E2M3", 4, 3, -1, true},
    {StorageType::f6_e3m2, "F6_E3M2", 4, 3, -1, true},
    {StorageType::f4, "F4", 2, 1, -1, true},
    {StorageType::q4_0, "Q4_0", 32, 18, 2, false},
    {StorageType::q4_1, "Q4_1", 32, 20, 3, false},
    {StorageType::q5_0, "Q5_0", 32, 22, 6, false},
    {StorageType::q5_1, "Q5_1", 32, 24, 7, false},
    {StorageType::q8_0, "Q8_0", 32, 34, 8, false},
    {StorageType::q8_1, "Q8_1", 32, 36, 9, false},
    {StorageType::q2_k, "Q2_K", 256, 84, 10, false},
    {StorageType::q3_k, "Q3_K", 256, 110, 11, false},
    {StorageType::q4_k, "Q4_K", 256, 144, 12, false},
    {StorageType::q5_k, "Q5_K", 256, 176, 13, false},
    {StorageType::q6_k, "Q6_K", 256, 210, 14, false},
    {StorageType::q8_k, "Q8_K", 256, 292, 15, false},
    {StorageType::iq2_xxs, "IQ2_XXS", 256, 66, 16, false},
    {StorageType::iq2_xs, "IQ2_XS", 256, 74, 17, false},
    {StorageType::iq3_xxs, "IQ3_XXS", 256, 98, 18, false},
    {StorageType::iq1_s, "IQ1_S", 256, 50, 19, false},
    {StorageType::iq4_nl, "IQ4_NL", 32, 18, 20, false},
    {StorageType::iq3_s, "IQ3_S", 256, 110, 21, false},
    {StorageType::iq2_s, "IQ2_S", 256, 82, 22, false},
    {StorageType::iq4_xs, "IQ4_XS", 256, 136, 23, false},
    {StorageType::iq1_m, "IQ1_M", 256, 56, 29, false},
    {StorageType::tq1_0, "TQ1_0", 256, 54, 34, false},
    {StorageType::tq2_0, "TQ2_0", 256, 66, 35, false},
    {StorageType::mxfp4, "MXFP4", 32, 17, 39, false},
});

/// Name, block and numbers of a type.
[[nodiscard]] constexpr const StorageInfo& storage_info(StorageType type) {
    return storage_types[static_cast<std::size_t>(type)];
}
[[nodiscard]] constexpr std::string_view storage_name(StorageType type) { return storage_info(type).name; }

/// The type that safetensors files call by this name, if it is known.
[[nodiscard]] constexpr std::optional<StorageType> safetensors_type(std::string_view name) {
    for (const StorageInfo& info : storage_types)
        if (info.in_safetensors && info.name == name) return info.type;
    return std::nullopt;
}

/// The type that GGUF files call by this number, if it is known.
[[nodiscard]] constexpr std::optional<StorageType> ggml_type(std::uint32_t number) {
    for (const StorageInfo& info : storage_types)
        if (info.ggml_number >= 0 && static_cast<std::uint32_t>(info.ggml_number) == number) return info.type;
    return std::nullopt;
}

/// The bytes of so many elements: false if they are not whole blocks, or more than 64 bits count.
[[nodiscard]] constexpr bool storage_bytes(StorageType type, std::uint64_t elements, std::uint64_t& bytes) {
    const StorageInfo& info = storage_info(type);
    const auto block = static_cast<std::uint64_t>(info.block_elements);
    return elements % block == 0 &&
           multiply_checked(elements / block, static_cast<std::uint64_t>(info.block_bytes), bytes);
}

}  // namespace l3::inline v0::io
