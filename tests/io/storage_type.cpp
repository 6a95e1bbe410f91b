#include <doctest/doctest.h>
#include <l3/io/storage_type.hpp>
#include <set>

using namespace l3;
using io::StorageType;

TEST_CASE("storage types: the table is in the order of the enumeration, with every name and number once") {
    std::set<std::string_view> names;
    std::set<int> numbers;
    for (std::size_t i = 0; i < io::storage_types.size(); ++i) {
        const io::StorageInfo& info = io::storage_types[i];
        CHECK(std::size_t(info.type) == i);
        CHECK(&io::storage_info(info.type) == &info);
        CHECK(names.insert(info.name).second);
        if (info.ggml_number >= 0) {
            CHECK(numbers.insert(info.ggml_number).second);
            CHECK(io::ggml_type(std::uint32_t(info.ggml_number)) == info.type);
        }
        CHECK(io::safetensors_type(info.name).has_value() == info.in_safetensors);
    }
    CHECK(std::size_t(StorageType::mxfp4) + 1 == io::storage_types.size());
}

TEST_CASE("storage types: what is not known is nothing") {
    CHECK_FALSE(io::safetensors_type("F8"));
    CHECK_FALSE(io::safetensors_type("Q8_0"));
    CHECK_FALSE(io::safetensors_type("f32"));
    for (std::uint32_t removed : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u, 1000u, 0xFFFFFFFFu})
        CHECK_FALSE(io::ggml_type(removed));
}

TEST_CASE("storage types: bytes of whole blocks, or none") {
    std::uint64_t bytes = 0;
    CHECK(io::storage_bytes(StorageType::bf16, 3, bytes));
    CHECK(bytes == 6);
    CHECK(io::storage_bytes(StorageType::q4_1, 64, bytes));
    CHECK(bytes == 40);
    CHECK(io::storage_bytes(StorageType::q6_k, 256, bytes));
    CHECK(bytes == 210);
    CHECK(io::storage_bytes(StorageType::f4, 2, bytes));
    CHECK(bytes == 1);
    CHECK(io::storage_bytes(StorageType::f32, std::uint64_t{1} << 32, bytes));
    CHECK(bytes == std::uint64_t{1} << 34);
    CHECK_FALSE(io::storage_bytes(StorageType::q8_0, 33, bytes));
    CHECK_FALSE(io::storage_bytes(StorageType::f64, std::uint64_t{1} << 61, bytes));
}
