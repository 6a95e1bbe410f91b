#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference/contract.hpp"
#include <doctest/doctest.h>
#include <l3/device/cpu/simd_bf16.hpp>
#include <l3/device/cpu/simd_f32.hpp>

using namespace l3;

namespace {

template <class T, class A>
void check_step() {
    using Dot = simd::Dot<T, A>;
    static_assert(Dot::part * simd::parts<A> == Dot::step);
    const auto w = support::random<T>({2, Dot::step}, support::misaligned), x = support::random<T>({3, Dot::step}, support::misaligned);
    f32 lanes[3][2][16];
    for (int p = 0; p < simd::parts<A>; ++p) {
        alignas(64) typename Dot::Input packed[3 * Dot::part];
        for (int m = 0; m < 3; ++m) Dot::pack(packed + m * Dot::packed, x.row(m) + p * Dot::part, 3 * Dot::packed);
        simd::Grid<simd::F<A>, 3, 2> acc;
        for (auto& row : acc) for (auto& a : row) a = simd::F<A>(0.0f);
        const T* const rows[2] = {w.row(0) + p * Dot::part, w.row(1) + p * Dot::part};
        Dot::template accumulate<3, 2>(acc, packed, rows);
        for (int m = 0; m < 3; ++m)
            for (int n = 0; n < 2; ++n) simd::store<A>(lanes[m][n] + p * simd::width<A>, acc[m][n]);
    }
    for (int m = 0; m < 3; ++m)
        for (int n = 0; n < 2; ++n) {
            const f32 want = reference::contract::dot(w.row(n), x.row(m), Dot::step);
            const f32 got = reference::contract::tree(lanes[m][n]);
            if (support::is_fused<A>) CHECK(got == want);
            else CHECK(std::abs(got - want) <= 8 * 0x1p-24f * Dot::step);
        }
}

}  // namespace

TEST_CASE_TEMPLATE("dot: one step of the canonical dot, in every instruction set and dtype", A, L3_TEST_ARCHITECTURES) {
    check_step<bf16, A>();
    check_step<f32, A>();
    CHECK(simd::dot_chunk == 1024);
}
