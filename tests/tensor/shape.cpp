#include <doctest/doctest.h>
#include <l3/tensor/shape.hpp>

using namespace l3;

TEST_CASE("acceptance A14: numbers of elements have 64 bits") {
    static_assert(std::is_same_v<decltype(Shape().numel()), Index> && sizeof(Index) == 8);
    CHECK(Shape{65536, 65536}.numel() == 4294967296);
    CHECK_THROWS_WITH_AS((Shape{Index{1} << 33, Index{1} << 33}), "a shape of too many elements", ShapeError);
}

TEST_CASE("shape: rows and columns of any rank") {
    CHECK(Shape{2, 3, 4}.rows() == 6);
    CHECK(Shape{2, 3, 4}.cols() == 4);
    CHECK(Shape{5}.rows() == 1);
    CHECK(Shape{5}.cols() == 5);
    CHECK(Shape{}.numel() == 1);
    CHECK(Shape{0, 4}.numel() == 0);
    CHECK(Shape{2, 3} == Shape{2, 3});
    CHECK(!(Shape{2, 3} == Shape{3, 2}));
    CHECK(!(Shape{2} == Shape{2, 1}));
    CHECK(message(Shape{2, 3}) == "[2, 3]");
    CHECK(message(Shape{}) == "[]");
}

TEST_CASE("shape: what cannot be a shape is named") {
    CHECK_THROWS_WITH_AS((Shape{-5}), "a dimension of -5", ShapeError);
    CHECK_THROWS_WITH_AS((Shape{1, 2, 3, 4, 5}), "a shape has at most 4 dimensions, not 5", ShapeError);
}
