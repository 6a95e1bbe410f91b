#include <doctest/doctest.h>
#include <l3/core/math.hpp>
#include <limits>

using namespace l3;

TEST_CASE("math: division upwards, multiples, products that do not fit") {
    CHECK(ceil_div(0, 3) == 0);
    CHECK(ceil_div(1, 3) == 1);
    CHECK(ceil_div(3, 3) == 1);
    CHECK(ceil_div(4, 3) == 2);
    CHECK(ceil_div<Index>(Index{1} << 40, 1000) == 1099511628);
    CHECK(align_up(0, 64) == 0);
    CHECK(align_up(1, 64) == 64);
    CHECK(align_up(64, 64) == 64);

    std::uint64_t product = 0;
    CHECK(multiply_checked(65536, 65536, product));
    CHECK(product == 4294967296u);
    CHECK(!multiply_checked(std::uint64_t{1} << 33, std::uint64_t{1} << 33, product));
    CHECK(!multiply_checked(std::numeric_limits<std::uint64_t>::max(), 2, product));
}
