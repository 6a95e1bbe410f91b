#include <doctest/doctest.h>
#include <l3/ops/cpu/attention.hpp>
#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"
#include "support/tolerance.hpp"

using namespace l3;

namespace {

struct Heads {
    int Nq, Nkv, Dh;
};

/// Queries, keys and values of S positions, and the cache filled with the latter two: all else in it is poison, so that
/// whatever reads beyond its positions is seen.
template <class T>
struct Case {
    Heads heads;
    Index S;
    support::TestTensor<f32> k, v;  // [S, Nkv*Dh], representable in T
    support::TestTensor<T> q;       // [S, Nq*Dh]
    support::TestTensor<T> k_cache, v_cache;
    KVView<T, CPU> kv;

    Case(Heads h, Index positions, double q_scale = 2, Index capacity = 0)
        : heads(h), S(positions) {
        const Index cols = Index{h.Nkv} * h.Dh;
        const auto rounded = [&](std::uint64_t seed) {
            auto x = support::random<f32>({S, cols}, support::aligned, 2, seed);
            for (Index i = 0; i < x.numel(); ++i) x.data()[i] = f32(T(x.data()[i]));
            return x;
        };
        k = rounded(1);
        v = rounded(2);
        q = support::random<T>({S, Index{h.Nq} * h.Dh}, support::misaligned, q_scale, 3);
        kv.num_key_value_heads = h.Nkv;
        kv.head_dim = h.Dh;
        kv.capacity = std::max(capacity, KVView<T, CPU>::round_capacity(S));
        k_cache = support::TestTensor<T>({kv.k_elements(h.Nkv, h.Dh, kv.capacity)}, support::misaligned);
        v_cache = support::TestTensor<T>({kv.v_elements(h.Nkv, h.Dh, kv.capacity)}, support::misaligned);
        kv.k = k_cache.data();
        kv.v = v_cache.data();
        for (auto* cache : {&k_cache, &v_cache})
            for (Index i = 0; i < cache->numel(); ++i) cache->data()[i] = T(i % 2 ? NAN : INFINITY);
        for (Index s = 0; s < S; ++s)
            for (int head = 0; head < h.Nkv; ++head) {
                kv.store_k(head, s, k.row(s) + head * h.Dh);
                kv.store_v(head, s, v.row(s) + head * h.Dh);
            }
    }

    /// The outputs of queries [first, first + count).
    template <class A = arch::native>
    support::TestTensor<T> attend(Context<CPU>& ctx, Index first, Index count) const {
        support::TestTensor<T> out({count, q.cols()}, support::misaligned);
        cpu::attention<A>(ctx, cpu::AttentionCall<T>(out, q.slice_rows(first, first + count), kv, {first, count}));
        return out;
    }

    support::TestTensor<T> contract(Index first, Index count) const {
        support::TestTensor<T> out({count, q.cols()}), keys({S, k.cols()}), values({S, v.cols()});
        for (Index i = 0; i < keys.numel(); ++i) {
            keys.data()[i] = T(k.data()[i]);
            values.data()[i] = T(v.data()[i]);
        }
        for (Index m = 0; m < count; ++m)
            for (int head = 0; head < heads.Nq; ++head) {
                const Index at = Index{head / (heads.Nq / heads.Nkv)} * heads.Dh;
                reference::contract::attention(out.row(m) + head * heads.Dh, q.row(first + m) + head * heads.Dh,
                                               keys.data() + at, values.data() + at, k.cols(), first + m + 1,
                                               Index{heads.Dh}, [](f32 x) { return simd::exp(x); });
            }
        return out;
    }
};

/// Bound of |out - exact| for outputs of f32 that are later rounded to T. A score is a sum of Dh products below 4 times
/// the scale and errs by Dh roundings of each; it is at most `score` in magnitude, so probabilities err relatively by
/// that and 4 units of exp; sums over S positions by one rounding per position of a block and a few per block.
template <class T>
double tolerance(Heads h, double S, double q_scale) {
    const double u = 0x1p-24, score = h.Dh * 2 * q_scale / std::sqrt(h.Dh);
    const double probability = (h.Dh + 2) * u * score + 2 * u * score + 4 * u;
    const double sums = std::min(S, 256.0) + 8 * std::ceil(S / 256);
    return support::rounded_tolerance<T>(2, 2 * (2 * probability + 2 * sums * u));
}

constexpr Heads some_heads[] = {{4, 2, 64}, {9, 3, 64}, {2, 2, 128}, {5, 1, 24}, {8, 1, 6}, {6, 3, 80}, {1, 1, 256}, {40, 1, 2}};

}  // namespace

TEST_CASE_TEMPLATE("attention is softmax(q k^T / sqrt(Dh)) v", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (Heads h : some_heads)
        for (Index S : {1, 2, 15, 16, 17, 33, 255, 256, 257, 300, 700}) {
            CAPTURE(h.Nq);
            CAPTURE(h.Nkv);
            CAPTURE(h.Dh);
            CAPTURE(S);
            const Case<T> c(h, S);
            const Index count = std::min<Index>(S, 20), first = S - count;
            support::TestTensor<T> out({count, c.q.cols()});
            ops::attention<T, CPU>(ctx, out, c.q.slice_rows(first, S), c.kv, {first, count});
            CHECK(support::max_error(out, reference::attention(c.q.slice_rows(first, S), c.k, c.v, h.Dh, first)) <=
                  tolerance<T>(h, double(S), 2));
        }
}

#if !defined(__aarch64__)
TEST_CASE_TEMPLATE("attention is right on plain x86-64, without the promise of equal bits", T, bf16, f32) {
    Context<CPU> ctx(2);
    for (Heads h : {Heads{4, 2, 64}, Heads{5, 1, 24}, Heads{3, 3, 6}})
        for (Index S : {1, 17, 300}) {
            const Case<T> c(h, S);
            // Products are rounded before they are added: twice the roundings.
            CHECK(support::max_error(c.template attend<arch::generic>(ctx, 0, S), reference::attention(c.q, c.k, c.v, h.Dh, 0)) <=
                  2 * tolerance<T>(h, double(S), 2));
        }
}
#endif

#if defined(L3_TEST_FUSED_ARCHITECTURES)
namespace {

template <class A, class T>
void check_contract() {
    Context<CPU> ctx(1);
    for (Heads h : some_heads)
        for (Index S : {1, 2, 15, 16, 17, 31, 32, 33, 64, 65, 129, 255, 256, 257, 272, 511, 513, 800}) {
            CAPTURE(A::name);
            CAPTURE(h.Nq);
            CAPTURE(h.Nkv);
            CAPTURE(h.Dh);
            CAPTURE(S);
            const Case<T> c(h, S);
            const Index count = std::min<Index>(S, h.Dh > 100 ? 3 : 9), first = S - count;
            const auto expected = c.contract(first, count), out = c.template attend<A>(ctx, first, count);
            CHECK(support::different_bits(out.data(), expected.data(), out.numel()) == 0);
        }
}

}  // namespace

TEST_CASE_TEMPLATE("attention has the bits of the contract, bf16", A, L3_TEST_FUSED_ARCHITECTURES) { check_contract<A, bf16>(); }
TEST_CASE_TEMPLATE("attention has the bits of the contract, f32", A, L3_TEST_FUSED_ARCHITECTURES) { check_contract<A, f32>(); }

TEST_CASE_TEMPLATE("attention has the bits of the contract where scores are far apart", T, bf16, f32) {
    Context<CPU> ctx(1);
    // Probabilities underflow to zero, whole blocks count for nothing, and the maximum is in any block.
    const Case<T> c({2, 1, 16}, 1100, 300);
    const auto expected = c.contract(0, 1100), out = c.attend(ctx, 0, 1100);
    CHECK(support::different_bits(out.data(), expected.data(), out.numel()) == 0);
}
#endif

TEST_CASE_TEMPLATE("attention: the same bits on any number of threads, and alone, in chunks or at once", T, bf16, f32) {
    Context<CPU> one(1);
    for (Heads h : {Heads{4, 2, 64}, Heads{9, 3, 24}, Heads{2, 2, 6}})
        for (Index S : {20, 262, 530}) {
            CAPTURE(h.Nq);
            CAPTURE(S);
            const Case<T> c(h, S);
            const auto all = c.attend(one, 0, S);
            for (int threads : {1, 2, 3, 5}) {
                CAPTURE(threads);
                Context<CPU> ctx(threads);
                for (Index chunk : {Index{1}, Index{2}, Index{3}, Index{7}, Index{16}, Index{33}, Index{256}, S}) {
                    CAPTURE(chunk);
                    Index different = 0;
                    // Of many short calls the last ones do.
                    for (Index first = S > 40 && chunk < 16 ? S - 12 : 0; first < S; first += chunk) {
                        const auto out = c.attend(ctx, first, std::min(chunk, S - first));
                        different += support::different_bits(out.data(), all.row(first), out.numel());
                    }
                    CHECK(different == 0);
                }
            }
        }
}

TEST_CASE_TEMPLATE("acceptance E11: chunks of queries that start at any position see what one call sees", T, bf16, f32) {
    Context<CPU> ctx(2);
    const Case<T> c({6, 2, 32}, 100, 2, 512);
    const auto once = c.attend(ctx, 0, 100);
    CHECK(support::max_error(once, reference::attention(c.q, c.k, c.v, 32, 0)) <= tolerance<T>(c.heads, 100, 2));
    for (Index chunk : {1, 2, 3, 7, 16, 33}) {
        CAPTURE(chunk);
        for (Index first = 0; first < 100; first += chunk) {
            const auto out = c.attend(ctx, first, std::min<Index>(chunk, 100 - first));
            CHECK(support::different_bits(out.data(), once.row(first), out.numel()) == 0);
        }
    }
}

TEST_CASE_TEMPLATE("attention reads nothing beyond the positions it may see", T, bf16, f32) {
    Context<CPU> ctx(2);
    const Case<T> c({4, 2, 24}, 70, 2, 160), longer({4, 2, 24}, 70, 2, 1024);
    for (Index first : {0, 30, 69}) {
        const auto a = c.attend(ctx, first, 1), b = longer.attend(ctx, first, 1);
        CHECK(support::different_bits(a.data(), b.data(), a.numel()) == 0);
        CHECK(support::max_error(a, a) == 0);  // no infinity or NaN of the rest of the cache
    }
}

TEST_CASE("attention: no tokens are no work") {
    Context<CPU> ctx(2);
    const Case<f32> c({4, 2, 24}, 1);
    support::TestTensor<f32> none({0, 96});
    ops::attention<f32, CPU>(ctx, none, none, c.kv, {1, 0});
}

TEST_CASE("attention: what does not fit is named") {
    Context<CPU> ctx(1);
    Case<f32> c({4, 2, 24}, 2);
    support::TestTensor<f32> out({2, 96}), wide({2, 100}), three({3, 96});
    const auto call = [&](const auto& o, const auto& q, Positions positions) {
        ops::attention<f32, CPU>(ctx, o, q, c.kv, positions);
    };
    CHECK_THROWS_WITH_AS(call(wide, wide, {0, 2}), "attention: q [2, 100] is no multiple of the cache's 2 heads of 24", ShapeError);
    CHECK_THROWS_WITH_AS(call(three, out, {0, 2}), "attention: out [3, 96] is not of the shape of q [2, 96]", ShapeError);
    CHECK_THROWS_WITH_AS(call(out, out, {0, 3}), "attention: q [2, 96] for 3 positions", ShapeError);
    CHECK_THROWS_WITH_AS(call(out, out, {15, 2}), "attention: positions 15 to 17 in a cache of 16", ShapeError);
    CHECK_THROWS_WITH_AS(call(out, out, {-1, 2}), "attention: positions -1 to 1 in a cache of 16", ShapeError);
    c.kv.head_dim = 3;
    CHECK_THROWS_WITH_AS(call(out, out, {0, 2}),
                         "attention: a cache of 2 heads of 3 (expected even) and 16 positions (expected a multiple of 16)",
                         ShapeError);
}
