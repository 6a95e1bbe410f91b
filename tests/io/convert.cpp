#include <doctest/doctest.h>
#include <l3/io/convert.hpp>
#include <l3/io/gguf.hpp>
#include <l3/io/safetensors.hpp>
#include "support/error_text.hpp"
#include "support/file_tensor.hpp"
#include "support/paths.hpp"
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

using namespace l3;
using io::StorageType;

namespace {

io::StoredTensor stored(StorageType type, const Shape& shape, std::span<const std::byte> data) {
    return {"t", type, shape, data, nullptr};
}

template <DType T>
std::vector<T> converted(const io::StoredTensor& tensor) {
    std::vector<T> out(static_cast<std::size_t>(tensor.shape.numel()));
    io::convert_rows(tensor, 0, tensor.shape.rows(), out.data());
    return out;
}

/// The value of an f16, from the definition of the format.
double f16_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    return sign * (exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24));
}

/// Quantised values from the definition of the formats, in double, where they are exact.
std::vector<double> dequantised(StorageType type, std::span<const std::byte> data) {
    std::vector<double> out;
    const auto byte = [&](std::size_t i) { return std::to_integer<int>(data[i]); };
    const auto f16 = [&](std::size_t i) { return f16_value(static_cast<std::uint16_t>(byte(i) | byte(i + 1) << 8)); };
    const std::size_t step = static_cast<std::size_t>(io::storage_info(type).block_bytes);
    for (std::size_t at = 0; at < data.size(); at += step)
        for (std::size_t i = 0; i < 32; ++i) {
            if (type == StorageType::q8_0) {
                const int q = byte(at + 2 + i);
                out.push_back(f16(at) * (q < 128 ? q : q - 256));
            } else {
                const std::size_t quanta = at + (type == StorageType::q4_1 ? 4 : 2);
                const int q = i < 16 ? byte(quanta + i) & 15 : byte(quanta + i - 16) >> 4;
                out.push_back(type == StorageType::q4_1 ? f16(at) * q + f16(at + 2) : f16(at) * (q - 8));
            }
        }
    return out;
}

/// Blocks of random quanta; scales of every size, subnormal and negative ones too, but finite.
std::vector<std::byte> random_blocks(StorageType type, std::size_t blocks, std::uint64_t seed) {
    std::vector<std::byte> data;
    std::uint64_t state = seed;
    const auto next = [&state] {
        return static_cast<int>((state = state * 6364136223846793005u + 1442695040888963407u) >> 40);
    };
    for (std::size_t b = 0; b < blocks; ++b)
        for (int i = 0; i < io::storage_info(type).block_bytes; ++i) {
            const bool exponent = i == 1 || (type == StorageType::q4_1 && i == 3);
            data.push_back(static_cast<std::byte>(exponent ? (next() & 0x83) | (next() % 31) << 2 : next()));
        }
    return data;
}

/// Whether both have the same bits, NaN and signed zeros included.
template <class T>
bool same_bits(const std::vector<T>& a, const std::vector<T>& b) {
    return std::ranges::equal(std::as_bytes(std::span(a)), std::as_bytes(std::span(b)));
}

}  // namespace

TEST_CASE("acceptance A17: conversions are exact, or rounded to nearest even") {
    CHECK(io::f16_to_f32(0x0001) == 5.960464477539063e-08f);
    CHECK(io::f16_to_f32(0x7BFF) == 65504.0f);
    const auto one = []<DType T>(StorageType type, auto bits, T) {
        return converted<T>(stored(type, {1}, std::as_bytes(std::span(&bits, 1))))[0];
    };
    CHECK(one(StorageType::bf16, std::uint16_t{0x7F7F}, f32{}) == 3.3895313892515355e+38f);
    CHECK(one(StorageType::f32, std::uint32_t{0x3F808000}, bf16{}) == bf16::from_bits(0x3F80));
    CHECK(one(StorageType::f32, std::uint32_t{0x3F818000}, bf16{}) == bf16::from_bits(0x3F82));
    CHECK(one(StorageType::f16, std::uint16_t{0x0001}, f32{}) == 0x1p-24f);
    CHECK(one(StorageType::f16, std::uint16_t{0x0001}, bf16{}) == bf16(0x1p-24f));  // normal in bf16
    CHECK(one(StorageType::f16, std::uint16_t{0x3C01}, bf16{}) == bf16(1.0f));
    CHECK(one(StorageType::bf16, std::uint16_t{0x0001}, f32{}) == std::bit_cast<f32>(0x00010000u));  // subnormal, exact
}

TEST_CASE("acceptance A17: every f16 and bf16 value, to f32 and bf16") {
    std::vector<std::uint16_t> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
    const auto bytes = std::as_bytes(std::span(all));
    const std::vector<f32> f16_f32 = converted<f32>(stored(StorageType::f16, {256, 256}, bytes)),
                           bf16_f32 = converted<f32>(stored(StorageType::bf16, {256, 256}, bytes));
    const std::vector<bf16> f16_bf16 = converted<bf16>(stored(StorageType::f16, {256, 256}, bytes)),
                            bf16_bf16 = converted<bf16>(stored(StorageType::bf16, {256, 256}, bytes));
    int wrong = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double exact = f16_value(all[i]);
        const bool nan = std::isnan(exact);
        wrong += nan ? !std::isnan(f16_f32[i])
                     : double{f16_f32[i]} != exact || std::signbit(f16_f32[i]) != std::signbit(exact);
        wrong +=
            nan ? !std::isnan(f32(f16_bf16[i])) : f16_bf16[i].bits != support::nearest_bf16(static_cast<float>(exact));
        wrong += std::bit_cast<std::uint32_t>(bf16_f32[i]) != std::uint32_t{all[i]} << 16;
        wrong += bf16_bf16[i].bits != all[i];
    }
    CHECK(wrong == 0);
}

TEST_CASE("acceptance A17: f32 to bf16 is the nearest, for values of every size") {
    std::vector<float> values;
    for (std::uint64_t u = 0; u < std::uint64_t{1} << 32; u += 65521 - 64 * (u % 7))
        values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(u)));
    for (std::uint32_t u :
         {0x7F7F7FFFu, 0x7F7F8000u, 0x7F800000u, 0x7F800001u, 0xFF800001u, 0x007FFFFFu, 0x80000001u, 0x00800000u})
        values.push_back(std::bit_cast<float>(u));
    const auto n = static_cast<Index>(values.size());
    const std::vector<bf16> out = converted<bf16>(stored(StorageType::f32, {n}, std::as_bytes(std::span(values))));
    int wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) wrong += out[i].bits != support::nearest_bf16(values[i]);
    CHECK(wrong == 0);
    CHECK(same_bits(converted<f32>(stored(StorageType::f32, {n}, std::as_bytes(std::span(values)))), values));
}

TEST_CASE("acceptance A17: Q8_0, Q4_0 and Q4_1 are what their definition says, rounded once") {
    for (StorageType type : {StorageType::q8_0, StorageType::q4_0, StorageType::q4_1}) {
        CAPTURE(io::storage_name(type));
        const std::vector<std::byte> data = random_blocks(type, 4000, 7);
        const io::StoredTensor t = stored(type, {1000, 128}, data);
        const std::vector<double> exact = dequantised(type, data);
        const std::vector<f32> as_f32 = converted<f32>(t);
        const std::vector<bf16> as_bf16 = converted<bf16>(t);
        int wrong = 0;
        for (std::size_t i = 0; i < exact.size(); ++i) {
            wrong += as_f32[i] != static_cast<float>(exact[i]);
            wrong += as_bf16[i] != bf16(as_f32[i]);
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE_TEMPLATE(
    "convert_rows: any range of rows gives the same bits, from any alignment, and nothing beyond is touched", T, bf16,
    f32) {
    for (StorageType type : {StorageType::f32, StorageType::f16, StorageType::bf16, StorageType::q8_0,
                             StorageType::q4_0, StorageType::q4_1}) {
        CAPTURE(io::storage_name(type));
        const bool blocks = io::storage_info(type).block_elements > 1;
        for (Index cols : blocks ? std::vector<Index>{32, 96} : std::vector<Index>{1, 3, 31, 32, 33, 64, 65}) {
            CAPTURE(cols);
            const Shape shape{7, cols};
            std::uint64_t size = 0;
            REQUIRE(io::storage_bytes(type, static_cast<std::uint64_t>(shape.numel()), size));
            std::vector<std::byte> data = random_blocks(StorageType::q8_0, size / 34 + 1, 3);
            data.resize(size);
            std::vector<std::byte> shifted(1, std::byte{9});
            shifted.insert(shifted.end(), data.begin(), data.end());
            const io::StoredTensor aligned = stored(type, shape, data),
                                   odd = stored(type, shape, std::span(shifted).subspan(1));
            CHECK_FALSE(io::usable_in_place<T>(odd));
            const std::vector<T> whole = converted<T>(aligned);
            CHECK(same_bits(whole, converted<T>(odd)));
            for (Index begin = 0; begin <= 7; ++begin)
                for (Index end = begin; end <= 7; ++end) {
                    const auto n = static_cast<std::size_t>((end - begin) * cols);
                    std::vector<T> out(n + 8, T(77.0f));
                    io::convert_rows(odd, begin, end, out.data());
                    REQUIRE(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n),
                                       whole.begin() + begin * cols,
                                       [](T a, T b) { return std::memcmp(&a, &b, sizeof a) == 0; }));
                    REQUIRE(std::all_of(out.begin() + static_cast<std::ptrdiff_t>(n), out.end(),
                                        [](T x) { return x == T(77.0f); }));
                }
        }
    }
}

TEST_CASE("convert_rows refuses types it does not know and rows that are not there") {
    const std::byte data[288] = {};
    float out[512];
    const auto text = [&]<class E>(E, const io::StoredTensor& t, Index begin, Index end) {
        return support::error_text<E>([&] { io::convert_rows(t, begin, end, out); });
    };
    for (StorageType type : {StorageType::f64, StorageType::i32, StorageType::f8_e4m3, StorageType::q5_0,
                             StorageType::q6_k, StorageType::mxfp4}) {
        CHECK_FALSE(io::can_convert(type));
        CHECK(text(UnsupportedError(""), stored(type, {1, 256}, data), 0, 1) ==
              message("tensor 't' (in memory) has the type ", io::storage_name(type),
                      "; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are read"));
    }
    const io::StoredTensor t = stored(StorageType::f32, {3, 24}, data);
    CHECK(text(ShapeError(""), t, 2, 4) == "tensor 't' (in memory) has the shape [3, 24]; rows 2 to 4 were asked for");
    CHECK(text(ShapeError(""), t, -1, 1) ==
          "tensor 't' (in memory) has the shape [3, 24]; rows -1 to 1 were asked for");
    CHECK(text(ShapeError(""), t, 2, 1) == "tensor 't' (in memory) has the shape [3, 24]; rows 2 to 1 were asked for");
    CHECK(text(ShapeError(""), t, 3, 3) == "(no exception)");
    CHECK(text(ShapeError(""), stored(StorageType::f32, {0, 24}, {}), 0, 0) == "(no exception)");
}

TEST_CASE("usable_in_place: the same type, aligned to its element") {
    alignas(8) const std::byte data[64] = {};
    const auto at = [&](StorageType type, std::size_t offset) {
        return stored(type, {4}, std::span(data).subspan(offset, 16));
    };
    CHECK(io::usable_in_place<f32>(at(StorageType::f32, 4)));
    CHECK_FALSE(io::usable_in_place<f32>(at(StorageType::f32, 2)));
    CHECK(io::usable_in_place<bf16>(at(StorageType::bf16, 2)));
    CHECK_FALSE(io::usable_in_place<bf16>(at(StorageType::bf16, 1)));
    CHECK_FALSE(io::usable_in_place<bf16>(at(StorageType::f16, 0)));
    CHECK_FALSE(io::usable_in_place<f32>(at(StorageType::bf16, 0)));
    CHECK_FALSE(io::usable_in_place<bf16>(at(StorageType::f32, 0)));
}

TEST_CASE("acceptance A17: rows of the shared quantised model equal those that another implementation dequantised") {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("SKIPPED: no shared data");
        return;
    }
    int compared = 0;
    for (const char* variant : {"quants", "quants-later"}) {
        const io::Gguf gguf = io::open_gguf(*shared / "tiny" / variant / "model.gguf");
        for (const io::StoredTensor& expected :
             io::open_safetensors(*shared / "tiny" / variant / "dequantised_rows.safetensors")) {
            CAPTURE(expected.name);
            const io::StoredTensor& t = gguf.tensors.at(expected.name);
            REQUIRE(expected.shape == Shape{2, t.shape.cols()});
            if (!io::can_convert(t.type)) continue;  // of a later issue
            std::vector<f32> rows(static_cast<std::size_t>(2 * t.shape.cols()));
            io::convert_rows(t, 0, 1, rows.data());
            io::convert_rows(t, t.shape.rows() - 1, t.shape.rows(), rows.data() + t.shape.cols());
            CHECK(same_bits(rows, converted<f32>(expected)));
            ++compared;
        }
    }
    CHECK(compared >= 6);
}
