#include <doctest/doctest.h>
#include <l3/core/elementary.hpp>
#include "support/random.hpp"
#include <algorithm>
#include <cmath>
#include <limits>

// Against the C library in long double, in units in the last place of the exact result.
using namespace l3;

namespace {

double ulps(double found, long double exact) {
    if (std::isinf(found) || found == 0) return found == double(exact) ? 0 : std::numeric_limits<double>::infinity();
    const double nearest = double(exact);
    const double ulp = std::nextafter(std::abs(nearest), std::numeric_limits<double>::infinity()) - std::abs(nearest);
    return double(std::abs(exact - found) / ulp);
}

double between(support::Random& random, double low, double high) {
    return low + (high - low) * (random.uniform() + 1) / 2;
}

constexpr int trials = 100000;
constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

TEST_CASE("elementary: exp is within 1 ulp") {
    support::Random random{1};
    double worst = 0;
    for (int i = 0; i < trials; ++i) {
        const double x = between(random, i % 2 ? -1 : -708, i % 2 ? 1 : 709.7);
        worst = std::max(worst, ulps(elementary::exp(x), std::exp(static_cast<long double>(x))));
    }
    MESSAGE("exp: ", worst, " ulp");
    CHECK(worst <= 1);
    CHECK(elementary::exp(0) == 1);
    CHECK(elementary::exp(-infinity) == 0);
    CHECK(elementary::exp(infinity) == infinity);
    CHECK(elementary::exp(710) == infinity);
    CHECK(elementary::exp(-746) == 0);
    CHECK(ulps(elementary::exp(-740), std::exp(-740.0L)) <= 1);  // a subnormal
    CHECK(std::isnan(elementary::exp(NAN)));
}

TEST_CASE("elementary: log is within 1 ulp") {
    support::Random random{2};
    double worst = 0;
    for (int i = 0; i < trials; ++i) {
        double x = between(random, 0.5, 2);
        if (i % 3 == 1) x = std::ldexp(x, int(random.below(2000)) - 1000);
        if (i % 3 == 2) x = 1 + std::ldexp(random.uniform(), -int(random.below(30)));
        if (x == 1) continue;
        worst = std::max(worst, ulps(elementary::log(x), std::log(static_cast<long double>(x))));
    }
    MESSAGE("log: ", worst, " ulp");
    CHECK(worst <= 1);
    CHECK(elementary::log(1) == 0);
    CHECK(elementary::log(0) == -infinity);
    CHECK(elementary::log(infinity) == infinity);
    CHECK(ulps(elementary::log(0x1.8p-1070), std::log(0x1.8p-1070L)) <= 1);  // a subnormal
    CHECK(std::isnan(elementary::log(-1)));
    CHECK(std::isnan(elementary::log(NAN)));
}

TEST_CASE("elementary: pow is within 1 ulp") {
    support::Random random{3};
    double worst = 0;
    for (int i = 0; i < trials; ++i) {
        // The bases of rotary positions, and anything else.
        const double x = i % 2 ? std::pow(10, between(random, 0, 9)) : std::pow(2, between(random, -300, 300));
        const double y = i % 2 ? between(random, -1, 1) : between(random, -3, 3);
        worst = std::max(worst, ulps(elementary::pow(x, y), std::pow(static_cast<long double>(x), static_cast<long double>(y))));
    }
    for (double theta : {1e4, 1e5, 5e5, 1e6, 1e9})
        for (int i = 0; i < 128; ++i)
            worst = std::max(worst, ulps(elementary::pow(theta, -i / 128.0),
                                         std::pow(static_cast<long double>(theta), static_cast<long double>(-i / 128.0))));
    MESSAGE("pow: ", worst, " ulp");
    CHECK(worst <= 1);
    CHECK(elementary::pow(10000, 0) == 1);
    CHECK(elementary::pow(1, 1e300) == 1);
    CHECK(elementary::pow(10, 3) == 1000);
    CHECK(elementary::pow(0.5, -10) == 1024);
    CHECK(elementary::pow(0, 2) == 0);
    CHECK(elementary::pow(0, -2) == infinity);
    CHECK(elementary::pow(10, 400) == infinity);
    CHECK(elementary::pow(10, -400) == 0);
    CHECK(elementary::pow(infinity, 0.5) == infinity);
    CHECK(std::isnan(elementary::pow(-1, 0.5)));
    CHECK(std::isnan(elementary::pow(NAN, 0.5)));
    CHECK(std::isnan(elementary::pow(2, NAN)));
}

TEST_CASE("elementary: sin and cos are within 1 ulp") {
    support::Random random{4};
    double worst = 0;
    const auto test = [&worst](double x) {
        worst = std::max(worst, ulps(elementary::sin(x), std::sin(static_cast<long double>(x))));
        worst = std::max(worst, ulps(elementary::cos(x), std::cos(static_cast<long double>(x))));
    };
    for (int i = 0; i < trials; ++i) {
        const double limits[] = {1, 10, 1e4, 0x1p20};
        test(limits[i % 4] * random.uniform());
    }
    for (int n = 1; n < 1 << 20; n += 1 + n / 64) {  // next to the zeros, and where quadrants meet
        const double zero = n * 1.5707963267948966;
        if (n < 4096) test(zero);
        test(zero + 1e-9);
        test(zero / 2);
    }
    for (int position = 0; position < 1 << 20; position += 1009) test(position);
    MESSAGE("sin, cos: ", worst, " ulp");
    CHECK(worst <= 1);
    CHECK(elementary::sin(0) == 0);
    CHECK(elementary::cos(0) == 1);
    CHECK(elementary::sin(1e-300) == 1e-300);
    CHECK(std::isnan(elementary::sin(infinity)));
    CHECK(std::isnan(elementary::cos(NAN)));
}

TEST_CASE("elementary: the same bits from every compiler") {
    // g++ and clang++, with and without contraction, on x86-64 and aarch64.
    std::uint64_t hash = 0xCBF29CE484222325u;
    const auto mix = [&hash](double x) { hash = (hash ^ std::bit_cast<std::uint64_t>(x)) * 0x100000001B3u; };
    support::Random random{5};
    for (int i = 0; i < trials; ++i) {
        const double x = random.uniform();
        mix(elementary::exp(700 * x));
        mix(elementary::log(1e6 * (1 + x)));
        mix(elementary::pow(std::fma(1e6, x, 1e6 + 1), random.uniform()));
        const auto [sin, cos] = elementary::sincos(0x1p20 * x);
        mix(sin);
        mix(cos);
    }
    CHECK(hash == 9071453720459556359u);
}
