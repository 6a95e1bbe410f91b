#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference/contract.hpp"
#include "support/tolerance.hpp"
#include <doctest/doctest.h>
#include <l3/ops/cpu/gemv.hpp>

using namespace l3;

namespace {

template <class T, class A>
void check_gemv() {
    for (int K : support::lengths_around(32, 1024)) {
        for (int N : {1, 2, 3, 4, 5, 9}) {
            CAPTURE(K); CAPTURE(N);
            const auto x = support::random<T>({1, K}, support::misaligned), W = support::random<T>({N, K}, support::misaligned);
            Context<CPU> ctx(1);
            const cpu::PackedInput<T, A> packed(ctx, 1, K);
            std::vector<const T*> rows;
            for (int n = 0; n < N; ++n) rows.push_back(W.row(n));
            std::vector<f32> dots(std::size_t(N) + 1, -7.0f);
            ctx.serial([&] {
                packed.pack(0, x.data());
                cpu::gemv<A, T>(rows.data(), N, packed, dots.data());
            });
            for (int n = 0; n < N; ++n) {
                const f32 want = reference::contract::dot(W.row(n), x.data(), K), got = dots[std::size_t(n)];
                if (support::is_fused<A>) REQUIRE(got == want);
                else REQUIRE(std::abs(got - want) <= support::dot_tolerance<T>(K));
            }
            REQUIRE(dots.back() == -7.0f);
        }
    }
}

}  // namespace

TEST_CASE_TEMPLATE("gemv: each dot is the canonical dot, in every instruction set and dtype", A, L3_TEST_ARCHITECTURES) {
    check_gemv<bf16, A>();
    check_gemv<f32, A>();
}

TEST_CASE("acceptance F04: dots are accumulated in f32") {
    Context<CPU> ctx(1);
    const auto dot = [&](std::vector<bf16> a, std::vector<bf16> b) {
        const cpu::PackedInput<bf16> packed(ctx, 1, Index(a.size()));
        const bf16* row = b.data();
        f32 result = 0;
        ctx.serial([&] {
            packed.pack(0, a.data());
            cpu::gemv<arch::native, bf16>(&row, 1, packed, &result);
        });
        return result;
    };
    CHECK(dot(std::vector<bf16>(65536, bf16(1.0f)), std::vector<bf16>(65536, bf16(1.0f))) == 65536);
    std::vector<bf16> a(4096, bf16(0.0f)), b(4096, bf16(0.0f));
    a[0] = bf16(1e4f), a[1] = bf16(1.0f), a[2] = bf16(-1e4f);
    b[0] = b[1] = b[2] = bf16(1.0f);
    CHECK(dot(a, b) == 1);

    for (std::uint64_t trial = 0; trial < 1000; ++trial) {
        const auto x = support::random<bf16>({1, 4096}, support::aligned, 1, trial), w = support::random<bf16>({1, 4096}, support::aligned, 1, trial);
        double exact = 0, size = 0;
        for (Index i = 0; i < 4096; ++i) {
            const double product = double(f32(x.data()[i])) * double(f32(w.data()[i]));
            exact += product;
            size += std::abs(product);
        }
        const f32 got = dot({x.data(), x.data() + 4096}, {w.data(), w.data() + 4096});
        REQUIRE(std::abs(got - exact) <= 64 * 0x1p-24 * size);
    }
}
