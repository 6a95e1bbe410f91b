#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference/contract.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/device/cpu/simd_f32.hpp>

using namespace l3;

TEST_CASE_TEMPLATE("simd_f32: the dot of plain vectors is the canonical dot", A, L3_TEST_ARCHITECTURES) {
    for (int K : support::lengths_around(16, 1024)) {
        CAPTURE(K);
        const auto a = support::random<f32>({1, K}, support::misaligned), b = support::random<f32>({1, K});
        const f32 want = reference::contract::dot(a.data(), b.data(), K), got = simd::dot<A>(a.data(), b.data(), K);
        if (support::is_fused<A>) CHECK(got == want);
        else CHECK(std::abs(got - want) <= support::dot_tolerance<f32>(K));
    }
    CHECK(simd::dot<A>(nullptr, nullptr, 0) == 0);
}
