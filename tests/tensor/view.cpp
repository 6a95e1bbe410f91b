#include <doctest/doctest.h>
#include <l3/tensor/view.hpp>

using namespace l3;

TEST_CASE("view: a pointer and a shape") {
    f32 x[12] = {};
    const TensorView<f32, CPU> view(x, {3, 4});
    CHECK(view.row(2) == x + 8);
    CHECK(view.nbytes() == 48);
    CHECK(bool(view));
    CHECK(!bool(TensorView<f32, CPU>()));
    CHECK(TensorView<f32, CPU>().empty());
    CHECK(view.slice_rows(1, 3).data() == x + 4);
    CHECK(view.slice_rows(1, 3).shape() == Shape{2, 4});
    CHECK(view.slice_rows(3, 3).empty());
    CHECK(view.reshape({2, 6}).row(1) == x + 6);
    const TensorView<const f32, CPU> constant = view;
    CHECK(constant.data() == x);
    static_assert(!std::is_convertible_v<TensorView<const f32, CPU>, TensorView<f32, CPU>>);
    static_assert(!std::is_convertible_v<TensorView<f32, CPU>, TensorView<f32, CUDA>>);
    static_assert(std::is_trivially_copyable_v<TensorView<bf16, CUDA>>);
}

TEST_CASE("view: rows and shapes that are not there are named") {
    f32 x[12] = {};
    const TensorView<f32, CPU> view(x, {3, 4});
    CHECK_THROWS_WITH_AS((void)view.slice_rows(2, 4), "rows 2 to 4 of [3, 4]", ShapeError);
    CHECK_THROWS_WITH_AS((void)view.slice_rows(-1, 2), "rows -1 to 2 of [3, 4]", ShapeError);
    CHECK_THROWS_WITH_AS((void)view.reshape({5}), "[3, 4] cannot be seen as [5]", ShapeError);
}

TEST_CASE("acceptance A14: views of more than 4 GiB count their bytes") {
    const TensorView<bf16, CUDA> view(nullptr, {65536, 65536});
    CHECK(view.nbytes() == 8589934592u);
}
