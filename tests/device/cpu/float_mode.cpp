#include <cfenv>
#include <doctest/doctest.h>
#include <l3/device/cpu/context.hpp>
#include <l3/device/cpu/float_mode.hpp>
#include <l3/dtype/dtype.hpp>
#include <limits>

using namespace l3;

namespace {
f32 halved(volatile f32& x) { return x * 0.5f; }
/// Whether sums are rounded to nearest on this thread.
bool to_nearest() {
    volatile f32 one = 1, little = 0x1p-40f;
    return one + little == 1 && -one - little == -1;
}
/// The control word without the flags that arithmetic leaves.
std::uint64_t mode() { return cpu::FloatMode::read() & ~std::uint64_t{0x3F}; }
}  // namespace

TEST_CASE("acceptance F08: the host's floating-point mode is its own before, after and when exceptions pass") {
    Context<CPU> ctx(2);
    std::fesetround(FE_UPWARD);
    const auto before = mode();
    volatile f32 smallest = std::numeric_limits<f32>::min();
    f32 inside = 1;
    bool nearest = false;
    ctx.serial([&] {
        inside = halved(smallest);
        nearest = to_nearest();
    });
    CHECK(inside == 0);
    CHECK(nearest);
    CHECK(!to_nearest());
    CHECK(mode() == before);
    CHECK(halved(smallest) > 0);

    CHECK_THROWS_AS(ctx.serial([] { throw 1; }), int);
    CHECK(mode() == before);
    CHECK_THROWS_AS(ctx.parallel(100, 1, [](Index, Index, int) { throw 1; }), int);
    CHECK(mode() == before);
    std::fesetround(FE_TONEAREST);
}

TEST_CASE("float_mode: threads of a pool compute in the library's mode") {
    Context<CPU> ctx(3);
    volatile f32 smallest = std::numeric_limits<f32>::min();
    std::atomic<int> wrong{0};
    for (int i = 0; i < 100; ++i)
        ctx.parallel(64, 1, [&](Index begin, Index end, int) {
            for (; begin < end; ++begin) wrong += halved(smallest) != 0;
        });
    CHECK(wrong == 0);
}
