#pragma once
// A tensor on its way into a file: name, type, shape and raw little-endian bytes. The writers beside this file take
// them as they are, so that a test can write what no reader should accept. Conversions here share no code with l3.
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace support {

struct FileTensor {
    std::string name;
    std::string type;                 // "F32", "F16", "BF16", "I32", "Q8_0", ...
    std::vector<std::int64_t> shape;  // row-major, as in Hugging Face: [out, in]
    std::string data;
};

template <class T>
std::string raw_bytes(std::span<const T> values) {
    std::string out(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(out.data(), values.data(), out.size());
    return out;
}

/// The nearest bf16, ties to even, subnormal f32 to zero: through exact double arithmetic.
inline std::uint16_t nearest_bf16(float x) {
    const auto sign = std::uint16_t(std::signbit(x) ? 0x8000 : 0);
    if (std::isnan(x)) return std::uint16_t(std::bit_cast<std::uint32_t>(x) >> 16 | 0x40);
    if (std::isinf(x)) return std::uint16_t(sign | 0x7F80);
    if (std::fabs(x) < 0x1p-126f) return sign;
    int exponent = 0;
    const double mantissa = std::frexp(std::fabs(double(x)), &exponent);  // [1/2, 1)
    auto whole = std::int64_t(std::nearbyint(mantissa * 256));            // [128, 256]
    if (whole == 256) whole = 128, ++exponent;
    if (exponent > 128) return std::uint16_t(sign | 0x7F80);
    return std::uint16_t(sign | (exponent + 126) << 7 | int(whole - 128));
}

/// The nearest f16, ties to even, subnormals kept.
inline std::uint16_t nearest_f16(float x) {
    const auto sign = std::uint16_t(std::signbit(x) ? 0x8000 : 0);
    if (std::isnan(x)) return std::uint16_t(sign | 0x7E00);
    const double a = std::fabs(double(x));
    if (a < 0x1p-14) return std::uint16_t(sign | int(std::nearbyint(a * 0x1p24)));  // 1024 is the smallest normal
    int exponent = 0;
    auto whole = std::isinf(x) ? 2048 : int(std::nearbyint(std::frexp(a, &exponent) * 2048));  // [1024, 2048]
    if (whole == 2048) whole = 1024, ++exponent;
    if (std::isinf(x) || exponent > 16) return std::uint16_t(sign | 0x7C00);
    return std::uint16_t(sign | (exponent + 14) << 10 | (whole - 1024));
}

inline FileTensor f32_tensor(std::string name, std::vector<std::int64_t> shape, std::span<const float> values) {
    return {std::move(name), "F32", std::move(shape), raw_bytes(values)};
}
inline FileTensor i32_tensor(std::string name, std::vector<std::int64_t> shape, std::span<const std::int32_t> values) {
    return {std::move(name), "I32", std::move(shape), raw_bytes(values)};
}
inline FileTensor bf16_tensor(std::string name, std::vector<std::int64_t> shape, std::span<const float> values) {
    std::vector<std::uint16_t> bits;
    for (float x : values) bits.push_back(nearest_bf16(x));
    return {std::move(name), "BF16", std::move(shape), raw_bytes(std::span<const std::uint16_t>(bits))};
}
inline FileTensor f16_tensor(std::string name, std::vector<std::int64_t> shape, std::span<const float> values) {
    std::vector<std::uint16_t> bits;
    for (float x : values) bits.push_back(nearest_f16(x));
    return {std::move(name), "F16", std::move(shape), raw_bytes(std::span<const std::uint16_t>(bits))};
}
/// By the name of the type: "F32", "BF16" or "F16".
inline FileTensor file_tensor(std::string_view type, std::string name, std::vector<std::int64_t> shape,
                              std::span<const float> values) {
    if (type == "BF16") return bf16_tensor(std::move(name), std::move(shape), values);
    if (type == "F16") return f16_tensor(std::move(name), std::move(shape), values);
    return f32_tensor(std::move(name), std::move(shape), values);
}

}  // namespace support
