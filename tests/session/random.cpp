#include "l3/session/random.hpp"
#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <vector>

using namespace l3;

TEST_CASE("Philox gives the published known answers") {
    // Random123, kat_vectors, philox4x32 with 10 rounds
    constexpr std::uint32_t ones = 0xFFFFFFFFu;
    CHECK(Philox::block(0, {{0, 0, 0, 0}}) == Philox::Block{{0x6627E8D5u, 0xE169C58Du, 0xBC57AC4Cu, 0x9B00DBD8u}});
    CHECK(Philox::block(~std::uint64_t{0}, {{ones, ones, ones, ones}}) ==
          Philox::Block{{0x408F276Du, 0x41C83B0Eu, 0xA20BC7C6u, 0x6D5451FDu}});
    CHECK(Philox::block(0x299F31D0A4093822u, {{0x243F6A88u, 0x85A308D3u, 0x13198A2Eu, 0x03707344u}}) ==
          Philox::Block{{0xD16CFE09u, 0x94FDCCEBu, 0x5001E420u, 0x24126EA1u}});
    static_assert(Philox::block(0, {{0, 0, 0, 0}}).words[0] == 0x6627E8D5u);
}

TEST_CASE("acceptance D07: the first numbers of a seed are these, on every compiler") {
    const double first[] = {0x1.b4f9e15641216p-1, 0x1.cbe137c9eeed8p-4, 0x1.f80df4707f939p-1, 0x1.1db9eb5db134cp-3,
                            0x1.d6057474294ecp-1};
    const double zero[] = {0x1.c2d38b1acc4fdp-1, 0x1.72c8036fe3932p-2, 0x1.471cca9813ea8p-2, 0x1.a911d29b2643ap-2,
                           0x1.6327e2ddde7b8p-1};
    const double most[] = {0x1.547473972a470p-4, 0x1.2d9f80d067fb4p-2, 0x1.bcf618585d894p-2, 0x1.5ca3dce71d1fap-1,
                           0x1.90224cc533e03p-1};
    for (std::uint64_t i = 0; i < 5; ++i) {
        CHECK(uniform(1234, i) == first[i]);
        CHECK(uniform(0, i) == zero[i]);
        CHECK(uniform(~std::uint64_t{0}, i) == most[i]);
    }
}

TEST_CASE("numbers of one seed are uniform and those of neighbouring seeds unlike") {
    const int n = 100000;
    double sum = 0, squares = 0, product = 0;
    for (int i = 0; i < n; ++i) {
        const double a = uniform(7, std::uint64_t(i)), b = uniform(8, std::uint64_t(i));
        CHECK_UNARY(0 <= a && a < 1);
        sum += a - 0.5;
        squares += (a - 0.5) * (a - 0.5);
        product += (a - 0.5) * (b - 0.5);
    }
    // five standard deviations of each mean: sqrt(1/12), sqrt(1/180), 1/12 over sqrt(n)
    CHECK(std::abs(sum / n) < 5 * 0.2887 / 316.2);
    CHECK(std::abs(squares / n - 1.0 / 12) < 5 * 0.0745 / 316.2);
    CHECK(std::abs(product / n) < 5 * 0.0833 / 316.2);
}

TEST_CASE("random seeds differ") {
    std::vector<std::uint64_t> seeds;
    for (int i = 0; i < 100; ++i) seeds.push_back(random_seed());
    std::sort(seeds.begin(), seeds.end());
    CHECK(std::adjacent_find(seeds.begin(), seeds.end()) == seeds.end());
}
