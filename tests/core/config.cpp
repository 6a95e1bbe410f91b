#include <doctest/doctest.h>
#include <l3/core/config.hpp>
#include <type_traits>

namespace l3 {
inline namespace v0 {
struct Versioned {};
}  // namespace v0
}  // namespace l3

L3_NOINLINE static int noinline_sum(int n) {
    int sum = 0;
    L3_UNROLL
    for (int i = 0; i < 4; ++i) sum += n;
    return sum;
}
L3_HOST_DEVICE L3_INLINE static int doubled(int x) { return 2 * x; }

TEST_CASE("config: names of the versioned namespace are those of l3") {
    static_assert(std::is_same_v<l3::Versioned, l3::v0::Versioned>);
    CHECK(noinline_sum(3) == 12);
    CHECK(doubled(4) == 8);
}
