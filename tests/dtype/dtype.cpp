#include <doctest/doctest.h>
#include <l3/dtype/dtype.hpp>
#include <string>

using namespace l3;

TEST_CASE("dtype: bf16 and f32 and nothing else") {
    static_assert(DType<bf16> && DType<f32>);
    static_assert(!DType<double> && !DType<int> && !DType<const f32> && !DType<std::uint16_t>);
    CHECK(std::string(dtype_name<bf16>) == "bf16");
    CHECK(std::string(dtype_name<f32>) == "f32");
}
