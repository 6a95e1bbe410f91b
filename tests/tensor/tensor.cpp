#include <doctest/doctest.h>
#include <l3/device/cpu/memory.hpp>
#include <l3/tensor/tensor.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("tensor: owns zeroed elements, moves, clones", T, bf16, f32) {
    Tensor<T, CPU> a({2, 3});
    for (Index i = 0; i < 6; ++i) REQUIRE(f32(a.data()[i]) == 0);
    a.row(1)[2] = T(4.0f);
    const Tensor<T, CPU> copy = a.clone();
    const T* data = a.data();
    Tensor<T, CPU> b = std::move(a);
    CHECK(b.data() == data);
    CHECK(!bool(a));
    CHECK(a.empty());
    CHECK(copy.data() != data);
    CHECK(f32(copy.row(1)[2]) == 4);
    b = Tensor<T, CPU>({5});
    CHECK(b.shape() == Shape{5});
    static_assert(!std::is_copy_constructible_v<Tensor<T, CPU>>);
    static_assert(std::is_convertible_v<Tensor<T, CPU>, TensorView<const T, CPU>>);
}
