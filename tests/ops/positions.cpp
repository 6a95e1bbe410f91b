#include <doctest/doctest.h>
#include <l3/ops/positions.hpp>

using namespace l3;

TEST_CASE("positions are a range from first to end") {
    constexpr Positions positions{3, 4};
    static_assert(positions.end() == 7);
    static_assert(Positions{}.end() == 0);
    CHECK(positions == Positions{3, 4});
    CHECK(positions != Positions{3, 5});
}
