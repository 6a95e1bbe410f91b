#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/norm_gate_up.hpp>

using namespace l3;
namespace contract = reference::contract;

TEST_CASE_TEMPLATE("norm_gate_up gives the contract's bits, on any number of threads", T, bf16, f32) {
    const auto exp = [](f32 x) { return simd::exp(x); };
    for (int threads : {1, 3}) {
        Context<CPU> ctx(threads);
        for (int M : {1, 2, 49})
            for (int H : {20, 1056})
                for (int F : {1, 23, 24, 25, 100}) {
                    if (M == 49 && H == 1056 && F > 25) continue;  // the scalar reference takes its time
                    CAPTURE(M); CAPTURE(H); CAPTURE(F);
                    const bool biases = F == 25;
                    const auto x = support::random<f32>({M, H}, support::misaligned, 2), norm = support::random<f32>({H});
                    const auto gate = support::random<T>({F, H}), up = support::random<T>({F, H}, support::misaligned);
                    const auto gate_bias = support::random<f32>({F}), up_bias = support::random<f32>({F});
                    MLP<T, CPU> mlp{gate, up, {}, {}, {}, {}};
                    if (biases) mlp.gate_bias = gate_bias, mlp.up_bias = up_bias;
                    support::TestTensor<T> h({M, F}, support::misaligned);
                    ops::norm_gate_up<T, CPU>(ctx, h, x, {norm, 1e-5f}, mlp);
                    Index wrong = 0;
                    std::vector<T> normed(std::size_t(H), T(0.0f));
                    for (Index m = 0; m < M; ++m) {
                        contract::rms_norm(normed.data(), x.row(m), norm.data(), H, 1e-5f);
                        for (Index i = 0; i < F; ++i) {
                            f32 g = contract::dot(gate.row(i), normed.data(), H), u = contract::dot(up.row(i), normed.data(), H);
                            if (biases) g = contract::sum(g, gate_bias.data()[i]), u = contract::sum(u, up_bias.data()[i]);
                            const T want = contract::round_to<T>(contract::silu_mul(g, u, exp));
                            wrong += support::different_bits(h.row(m) + i, &want, 1);
                        }
                    }
                    REQUIRE(wrong == 0);
                    const auto want = biases ? reference::norm_gate_up(x, norm, 1e-5f, gate, up, reference::rounding_of<T>(), gate_bias, up_bias)
                                             : reference::norm_gate_up(x, norm, 1e-5f, gate, up, reference::rounding_of<T>());
                    // |silu(g + e) u' - silu(g) u| with errors e of both products: silu has slope at most 1.1.
                    const double size = std::sqrt(H) * std::sqrt(H) + 1, e = support::product_tolerance<T>(H, 2 * std::sqrt(H));
                    REQUIRE(support::max_error(h, want) <= support::rounded_tolerance<T>(support::max_abs(want), 2.2 * e * size));
                }
    }
}

TEST_CASE("norm_gate_up: shapes that do not fit are named") {
    Context<CPU> ctx(1);
    const auto x = support::random<f32>({2, 8}), norm = support::random<f32>({8});
    const auto gate = support::random<f32>({5, 8}), up = support::random<f32>({6, 8});
    support::TestTensor<f32> h({2, 5});
    CHECK_THROWS_WITH_AS((ops::norm_gate_up<f32, CPU>(ctx, h, x, {norm, 0}, {gate, up, {}, {}, {}, {}})), "norm_gate_up: up_proj [6, 8] is not gate_proj's [5, 8]", ShapeError);
}
