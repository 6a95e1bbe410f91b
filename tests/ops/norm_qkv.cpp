#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/norm_qkv.hpp>

using namespace l3;
namespace contract = reference::contract;

namespace {

template <class T>
struct Case {
    int M, H, Nq, Nkv, Dh;
    Index first;
    bool biases;
    support::TestTensor<f32> x = support::random<f32>({M, H}, support::misaligned, 2), norm = support::random<f32>({H});
    support::TestTensor<T> q_proj = support::random<T>({Nq * Dh, H}), k_proj = support::random<T>({Nkv * Dh, H}, support::misaligned),
                           v_proj = support::random<T>({Nkv * Dh, H});
    support::TestTensor<f32> q_bias = support::random<f32>({Nq * Dh}), k_bias = support::random<f32>({Nkv * Dh}),
                             v_bias = support::random<f32>({Nkv * Dh});
    std::vector<double> inv_freq = frequencies();
    support::TestTensor<f32> cos{Shape{M, Dh / 2}}, sin{Shape{M, Dh / 2}};
    Index capacity = KVView<T, CPU>::round_capacity(first + M);
    support::TestTensor<T> k{Shape{KVView<T, CPU>::k_elements(Nkv, Dh, capacity)}},
        v{Shape{KVView<T, CPU>::v_elements(Nkv, Dh, capacity)}}, q{Shape{M, Nq * Dh}};

    std::vector<double> frequencies() const {
        std::vector<double> f;
        for (int i = 0; i < Dh / 2; ++i) f.push_back(std::pow(10000.0, -2.0 * i / Dh));
        return f;
    }
    KVView<T, CPU> kv() const { return {k.data(), v.data(), Nkv, Dh, capacity}; }

    void run(Context<CPU>& ctx) {
        ops::rope_table<CPU>(ctx, cos, sin, inv_freq, {first, M});
        SelfAttention<T, CPU> weights{q_proj, k_proj, v_proj, {}, {}, {}, {}, {}, Nq, Nkv, Dh};
        if (biases) weights.q_bias = q_bias, weights.k_bias = k_bias, weights.v_bias = v_bias;
        ops::norm_qkv<T, CPU>(ctx, q, kv(), x, {norm, 1e-5f}, weights, {cos, sin}, {first, M});
    }

    /// What the contract says of a head of one token: the finished dots, rotated (not those of v) and rounded.
    std::vector<T> expected(Index m, const support::TestTensor<T>& proj, const support::TestTensor<f32>& bias, int head, bool rotate) const {
        std::vector<T> normed(std::size_t(H), T(0.0f)), out;
        contract::rms_norm(normed.data(), x.row(m), norm.data(), H, 1e-5f);
        std::vector<f32> dots;
        for (int i = 0; i < Dh; ++i) {
            const f32 dot = contract::dot(proj.row(Index{head} * Dh + i), normed.data(), H);
            dots.push_back(biases ? contract::sum(dot, bias.data()[head * Dh + i]) : dot);
        }
        for (int i = 0; rotate && i < Dh / 2; ++i) contract::rope(dots[std::size_t(i)], dots[std::size_t(i + Dh / 2)], cos.row(m)[i], sin.row(m)[i]);
        for (f32 d : dots) out.push_back(contract::round_to<T>(d));
        return out;
    }
    Index different() const {
        Index wrong = 0;
        for (Index m = 0; m < M; ++m) {
            for (int h = 0; h < Nq; ++h) wrong += support::different_bits(q.row(m) + h * Dh, expected(m, q_proj, q_bias, h, true).data(), Dh);
            for (int h = 0; h < Nkv; ++h) {
                const auto key = expected(m, k_proj, k_bias, h, true), value = expected(m, v_proj, v_bias, h, false);
                for (int d = 0; d < Dh; ++d) wrong += support::different_bits(&kv().k_at(h, first + m, d), &key[std::size_t(d)], 1);
                wrong += support::different_bits(kv().v_row(h, first + m), value.data(), Dh);
            }
        }
        return wrong;
    }
};

}  // namespace

TEST_CASE_TEMPLATE("norm_qkv gives the contract's bits, from any position, on any number of threads", T, bf16, f32) {
    for (int threads : {1, 3}) {
        Context<CPU> ctx(threads);
        for (int M : {1, 2, 5, 50})
            for (int H : {20, 64, 1056}) {
                for (auto [Nq, Nkv, Dh] : {std::tuple{1, 1, 2}, std::tuple{4, 2, 6}, std::tuple{3, 1, 24}, std::tuple{2, 2, 64}, std::tuple{2, 1, 136}}) {
                    if (M == 50 && H == 1056 && Dh > 24) continue;  // the scalar reference takes its time
                    CAPTURE(M); CAPTURE(H); CAPTURE(Nq); CAPTURE(Dh);
                    Case<T> c{M, H, Nq, Nkv, Dh, M == 2 ? 13 : 0, Dh != 24};
                    c.run(ctx);
                    REQUIRE(c.different() == 0);
                }
            }
    }
}

TEST_CASE_TEMPLATE("norm_qkv is norm, projection and rotation in double", T, bf16, f32) {
    Context<CPU> ctx(2);
    Case<T> c{7, 96, 4, 2, 16, 1000, true};
    c.run(ctx);
    const auto want = reference::norm_qkv(c.x, c.norm, 1e-5f, c.q_proj, c.k_proj, c.v_proj, reference::rope_table(c.inv_freq, c.first, c.M), c.Dh,
                                          reference::rounding_of<T>(), c.q_bias, c.k_bias, c.v_bias);
    // A rotated value is made of two dots; both are rounded to T at the end.
    const double before = 2 * support::product_tolerance<T>(c.H, 2 * std::sqrt(c.H)), tolerance = support::rounded_tolerance<T>(support::max_abs(want.q), before) + before;
    CHECK(support::max_error(c.q, want.q) <= tolerance);
    for (int m = 0; m < c.M; ++m)
        for (int h = 0; h < c.Nkv; ++h)
            for (int d = 0; d < c.Dh; ++d) {
                REQUIRE(std::abs(f32(c.kv().k_at(h, c.first + m, d)) - want.k(m, h * c.Dh + d)) <= tolerance);
                REQUIRE(std::abs(f32(c.kv().v_row(h, c.first + m)[d]) - want.v(m, h * c.Dh + d)) <= tolerance);
            }
}

TEST_CASE("norm_qkv leaves the rest of the cache alone, and names what does not fit") {
    Context<CPU> ctx(1);
    Case<f32> c{2, 8, 2, 1, 4, 5, false};
    for (Index i = 0; i < c.k.numel(); ++i) c.k.data()[i] = -1;
    for (Index i = 0; i < c.v.numel(); ++i) c.v.data()[i] = -1;
    c.run(ctx);
    for (Index s = 0; s < c.capacity; ++s)
        for (int d = 0; d < 4; ++d) {
            const bool written = s >= 5 && s < 7;
            CHECK((c.kv().k_at(0, s, d) == -1) == !written);
            CHECK((c.kv().v_row(0, s)[d] == -1) == !written);
        }
    c.first = 15;
    CHECK_THROWS_WITH_AS(c.run(ctx), "norm_qkv: positions 15 and 2 more for 2 rows in a cache of 16", ShapeError);
    Case<f32> narrow{2, 8, 2, 1, 4, 5, false};
    narrow.q_proj = support::random<f32>({8, 7});
    CHECK_THROWS_WITH_AS(narrow.run(ctx), "norm_qkv: q_proj [8, 7] is not [8, 8]", ShapeError);
}
