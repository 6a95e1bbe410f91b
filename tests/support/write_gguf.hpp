#pragma once
// Writes GGUF files for tests: metadata of any type, tensors of any type by its name.
#include "file_tensor.hpp"
#include "paths.hpp"
#include <stdexcept>
#include <type_traits>
#include <variant>

namespace support {

/// One metadata value; the C++ type chooses the type in the file.
using GgufValue =
    std::variant<std::uint8_t, std::int8_t, std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, float, bool,
                 std::string, std::vector<std::string>, std::vector<float>, std::vector<std::int32_t>,
                 std::vector<std::uint32_t>, std::vector<bool>, std::uint64_t, std::int64_t, double>;
struct GgufMetadata {
    std::string key;
    GgufValue value;
};

struct GgufOptions {
    std::uint32_t version = 3;
    std::uint64_t alignment = 32;  // other than 32: general.alignment is written too
};

/// Appends numbers as they lie in memory (little-endian), and strings with their length before them.
struct GgufBytes {
    std::string bytes;

    template <class T>
    GgufBytes& number(T value) {
        bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
        return *this;
    }
    GgufBytes& text(std::string_view s) {
        number(std::uint64_t(s.size()));
        bytes.append(s);
        return *this;
    }
    GgufBytes& pad(std::uint64_t alignment) {
        bytes.append((alignment - bytes.size() % alignment) % alignment, '\0');
        return *this;
    }
};

/// The number of a metadata type in the file.
template <class T>
constexpr std::uint32_t gguf_value_type() {
    if constexpr (std::is_same_v<T, std::uint8_t>) return 0;
    else if constexpr (std::is_same_v<T, std::int8_t>) return 1;
    else if constexpr (std::is_same_v<T, std::uint16_t>) return 2;
    else if constexpr (std::is_same_v<T, std::int16_t>) return 3;
    else if constexpr (std::is_same_v<T, std::uint32_t>) return 4;
    else if constexpr (std::is_same_v<T, std::int32_t>) return 5;
    else if constexpr (std::is_same_v<T, float>) return 6;
    else if constexpr (std::is_same_v<T, bool>) return 7;
    else if constexpr (std::is_same_v<T, std::string>) return 8;
    else if constexpr (std::is_same_v<T, std::uint64_t>) return 10;
    else if constexpr (std::is_same_v<T, std::int64_t>) return 11;
    else if constexpr (std::is_same_v<T, double>) return 12;
    else return 9;  // an array
}

inline std::uint32_t gguf_tensor_type(std::string_view name) {
    constexpr std::pair<std::string_view, std::uint32_t> types[] = {
        {"F32", 0},   {"F16", 1},   {"Q4_0", 2},  {"Q4_1", 3},  {"Q5_0", 6}, {"Q5_1", 7}, {"Q8_0", 8}, {"Q2_K", 10},
        {"Q3_K", 11}, {"Q4_K", 12}, {"Q5_K", 13}, {"Q6_K", 14}, {"I8", 24},  {"I32", 26}, {"BF16", 30}};
    for (const auto& [known, number] : types)
        if (known == name) return number;
    throw std::runtime_error("write_gguf: unknown tensor type " + std::string(name));
}

inline void put_gguf_value(GgufBytes& out, const GgufValue& value) {
    std::visit(
        [&out]<class V>(const V& v) {
            out.number(gguf_value_type<V>());
            if constexpr (std::is_same_v<V, std::string>) {
                out.text(v);
            } else if constexpr (std::is_arithmetic_v<V>) {
                out.number(v);
            } else {
                using E = typename V::value_type;
                out.number(gguf_value_type<E>()).number(std::uint64_t(v.size()));
                for (const auto& element : v) {
                    if constexpr (std::is_same_v<E, std::string>) out.text(element);
                    else out.number(E(element));
                }
            }
        },
        value);
}

inline std::string gguf_bytes(std::span<const GgufMetadata> metadata, std::span<const FileTensor> tensors,
                              const GgufOptions& options = {}) {
    GgufBytes out;
    const bool own_alignment = options.alignment != 32;
    out.bytes = "GGUF";
    out.number(options.version).number(std::uint64_t(tensors.size()));
    out.number(std::uint64_t(metadata.size() + (own_alignment ? 1 : 0)));
    for (const GgufMetadata& m : metadata) put_gguf_value(out.text(m.key), m.value);
    if (own_alignment) put_gguf_value(out.text("general.alignment"), std::uint32_t(options.alignment));
    GgufBytes data;
    for (const FileTensor& t : tensors) {
        out.text(t.name).number(std::uint32_t(t.shape.size()));
        for (std::size_t i = t.shape.size(); i-- > 0;) out.number(std::uint64_t(t.shape[i]));  // innermost first
        out.number(gguf_tensor_type(t.type)).number(std::uint64_t(data.bytes.size()));
        data.bytes += t.data;
        data.pad(options.alignment);
    }
    if (!tensors.empty()) out.pad(options.alignment);
    return out.bytes + data.bytes;
}

/// Writes a GGUF file. Shapes are given row-major ([out, in]) and written innermost first, as the format wants it.
inline void write_gguf(const std::filesystem::path& path, std::span<const GgufMetadata> metadata,
                       std::span<const FileTensor> tensors, const GgufOptions& options = {}) {
    write_file(path, gguf_bytes(metadata, tensors, options));
}

}  // namespace support
