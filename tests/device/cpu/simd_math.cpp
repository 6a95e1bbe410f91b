#include <doctest/doctest.h>
#include <l3/device/cpu/float_mode.hpp>
#include <l3/device/cpu/simd_math.hpp>
#include "support/architectures.hpp"
#include "support/random.hpp"
#include <algorithm>
#include <cmath>
#include <vector>

using namespace l3;
using support::bits_of;
using support::float_of;

namespace {

constexpr f32 infinity = std::numeric_limits<f32>::infinity();

template <class A, class Function>
std::vector<f32> in_registers(const std::vector<f32>& x, const Function& function) {
    std::vector<f32> y(align_up<std::size_t>(x.size(), 16)), padded = x;
    padded.resize(y.size());
    cpu::in_float_mode([&] {
        for (std::size_t i = 0; i < y.size(); i += 16)
            simd::store_lanes<A>(&y[i], function(simd::load_lanes<A>(&padded[i])));
    });
    y.resize(x.size());
    return y;
}
template <class A>
std::vector<f32> exp(const std::vector<f32>& x) {
    return in_registers<A>(x, [](const simd::Lanes<A>& v) { return simd::exp<A>(v); });
}
template <class A>
std::vector<f32> silu(const std::vector<f32>& x) {
    return in_registers<A>(x, [](const simd::Lanes<A>& v) { return simd::map<A>([](simd::F<A> part) { return simd::silu<A>(part); }, v); });
}

double ulps(f32 found, double exact) {
    const f32 nearest = f32(exact);
    return std::abs(exact - double(found)) / (double(std::nextafter(std::abs(nearest), infinity)) - std::abs(double(nearest)));
}

/// Every 331st f32: all signs, exponents, infinities and NaNs.
std::vector<f32> all_kinds() {
    std::vector<f32> x;
    for (std::uint64_t u = 0; u < std::uint64_t{1} << 32; u += 331) x.push_back(float_of(std::uint32_t(u)));
    for (std::uint32_t u : {0x7F800000u, 0xFF800000u, 0x7FC00000u, 0x7F800001u, 0x80000000u, 0x00000001u, 0x80000001u})
        x.push_back(float_of(u));
    return x;
}

}  // namespace

TEST_CASE_TEMPLATE("simd_math: exp at its ends", A, L3_TEST_ARCHITECTURES) {
    const f32 smallest = std::numeric_limits<f32>::min();
    const std::vector<f32> x = {0, -0.0f, infinity, -infinity, NAN, 88.72283f, 88.72284f, 1e30f, -87.33654f, -87.33655f, -1e30f, 1e-40f};
    const std::vector<f32> y = exp<A>(x);
    CHECK(y[0] == 1);
    CHECK(y[1] == 1);
    CHECK(y[2] == infinity);
    CHECK(bits_of(y[3]) == 0);
    CHECK(std::isnan(y[4]));
    CHECK(y[5] <= std::numeric_limits<f32>::max());
    CHECK(y[6] == infinity);
    CHECK(y[7] == infinity);
    CHECK(y[8] >= smallest);
    CHECK(bits_of(y[9]) == 0);  // would be a subnormal
    CHECK(bits_of(y[10]) == 0);
    CHECK(y[11] == 1);
    for (std::size_t i = 0; i < x.size(); ++i)
        if (i != 4) CHECK(bits_of(simd::exp(x[i])) == bits_of(y[i]));
    CHECK(std::isnan(simd::exp(NAN)));
}

TEST_CASE_TEMPLATE("acceptance F10: exp is accurate, silu and softmax have no holes", A, L3_TEST_ARCHITECTURES) {
    // 10^7 points in [-87, 0], and as many up to where exp overflows.
    double worst = 0;
    for (const auto& [low, high] : {std::pair{-87.0, 0.0}, std::pair{0.0, 88.72}}) {
        for (int piece = 0; piece < 100; ++piece) {
            std::vector<f32> x;
            for (int i = 0; i < 100000; ++i) x.push_back(f32(low + (high - low) * (i + 100000 * piece) / 1e7));
            const std::vector<f32> y = exp<A>(x);
            for (std::size_t i = 0; i < x.size(); ++i) worst = std::max(worst, ulps(y[i], std::exp(double(x[i]))));
        }
    }
    MESSAGE("exp: ", worst, " ulp");
    CHECK(worst <= (support::is_fused<A> ? 1 : 2));

    const std::vector<f32> y = silu<A>({-1e4f, 1e4f, -100, -88.8f, 0, 88.8f, infinity, -88, NAN});
    CHECK(y[0] == 0);
    CHECK(y[1] == 1e4f);
    CHECK(y[2] == 0);
    CHECK(y[3] <= 0);
    CHECK(std::isfinite(y[3]));
    CHECK(y[4] == 0);
    CHECK(y[5] == 88.8f);
    CHECK(y[6] == infinity);
    CHECK(y[7] < 0);
    CHECK(std::isnan(y[8]));

    for (const auto& [scores, expected] : {std::pair{std::vector<f32>{0, -1000}, std::vector<f32>{1, 0}},
                                           std::pair{std::vector<f32>{1e30f, 1e30f}, std::vector<f32>{0.5f, 0.5f}}}) {
        const f32 max = *std::max_element(scores.begin(), scores.end());
        std::vector<f32> p = exp<A>({scores[0] - max, scores[1] - max});
        const f32 sum = p[0] + p[1];
        CHECK(p[0] / sum == expected[0]);
        CHECK(p[1] / sum == expected[1]);
    }
}

#if defined(L3_TEST_FUSED_ARCHITECTURES)
TEST_CASE_TEMPLATE("simd_math: one number has the bits of a lane, in any floating-point mode", A, L3_TEST_FUSED_ARCHITECTURES) {
    const std::vector<f32> x = all_kinds(), y = exp<A>(x);
    Index different = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const f32 one = simd::exp(x[i]);  // in the mode of the test: subnormals are numbers
        different += std::isnan(x[i]) ? !std::isnan(one) || !std::isnan(y[i]) : bits_of(one) != bits_of(y[i]);
    }
    CHECK(different == 0);
    cpu::in_float_mode([&] {
        for (std::size_t i = 0; i < x.size(); ++i) different += !std::isnan(x[i]) && bits_of(simd::exp(x[i])) != bits_of(y[i]);
    });
    CHECK(different == 0);
}
#endif

TEST_CASE("simd_math: the same bits from every compiler and on every CPU with fused multiply-add") {
    std::uint64_t hash = 0xCBF29CE484222325u;
    const auto mix = [&hash](f32 x) { hash = (hash ^ (std::isnan(x) ? 0 : bits_of(x))) * 0x100000001B3u; };
    for (f32 x : all_kinds()) mix(simd::exp(x));
    CHECK(hash == 16772281398290329659u);
}
