#include "reference.hpp"
#include "tolerance.hpp"
#include <doctest/doctest.h>

using namespace support;

TEST_CASE("references: the generator gives the numbers that tests/reference/golden.py gives") {
    Random random{hash("model.norm.weight")};
    CHECK(hash("") == 0xCBF29CE484222325u);
    CHECK(hash("a") == 0xAF63DC4C8601EC8Cu);
    CHECK(Random{}.next() == 0xE220A8397B1DCDAFu);  // the first output of splitmix64 for seed 0
    for (int i = 0; i < 1000; ++i) {
        const double x = random.uniform();
        CHECK((x >= -1 && x < 1 && double(float(x)) == x));
    }
}

TEST_CASE_TEMPLATE("references: random tensors depend on place, shape and seed; own their bytes; have their alignment", T,
                   f32, bf16) {
    const auto make = [](std::uint64_t seed) { return random<T>({5, 7}, misaligned, 2.0, seed); };
    const TestTensor<T> a = make(1), b = make(1), c = make(2);
    CHECK(different_bits(a.data(), b.data(), 35) == 0);
    CHECK(different_bits(a.data(), c.data(), 35) > 30);
    CHECK(different_bits(a.data(), a.clone().data(), 35) == 0);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 4);
    CHECK(reinterpret_cast<std::uintptr_t>(random<T>({1, 1}).data()) % 64 == 0);
    CHECK(max_abs(a) <= 2);
    CHECK(max_abs(a) > 1);
}

TEST_CASE_TEMPLATE("references: the contract's dot is within the tolerance of the double dot", T, f32, bf16) {
    for (int K : lengths_around(32, 1024)) {
        CAPTURE(K);
        const auto w = random<T>({3, K}), x = random<T>({2, K});
        reference::Matrix dots(2, 3);
        for (int m = 0; m < 2; ++m)
            for (int n = 0; n < 3; ++n) dots(m, n) = double(reference::contract::dot<T>(w.row(n), x.row(m), K));
        CHECK(max_error(dots, reference::linear(x, w)) <= dot_tolerance<T>(K));
    }
}

TEST_CASE("references: the contract's dot adds in the contract's order") {
    using reference::contract::dot;
    // Lane 0 takes elements 0 and 16: 2^24 + 1 is lost there; elements 0 and 8 meet in the tree, too late for + 1.
    std::vector<float> ones(2048, 1.0f), w(2048, 0.0f);
    w[0] = 0x1p24f, w[16] = 1, w[32] = 1;
    CHECK(dot(w.data(), ones.data(), 1024) == 0x1p24f);
    w[16] = 0, w[8] = 1, w[32] = 1;  // lane 0: 2^24 + 1 = 2^24; lane 8: 1, lost again
    CHECK(dot(w.data(), ones.data(), 1024) == 0x1p24f);
    w[32] = 0, w[8] = 1, w[24] = 1;  // lane 8: 2
    CHECK(dot(w.data(), ones.data(), 1024) == 0x1p24f + 2);
    w[8] = 1, w[24] = 0, w[1024] = 1;  // another chunk: added last, lost
    CHECK(dot(w.data(), ones.data(), 2048) == 0x1p24f);

    std::vector<bf16> a(64, bf16::from_bits(0)), b(64, bf16::from_bits(0x3F80));
    a[0] = bf16::from_bits(0x4B80), a[1] = bf16::from_bits(0x3F80), a[2] = bf16::from_bits(0x3F80);
    // lane 0: odd element first: 1, then + 2^24 = 2^24 (tie to even); lane 1 has element 2.
    CHECK(dot(a.data(), b.data(), 64) == 0x1p24f);
    a[1] = bf16::from_bits(0x4040);  // 3 + 2^24 = 2^24 + 4 (tie to even); + 1 in the tree: a tie, to even
    CHECK(dot(a.data(), b.data(), 64) == 0x1p24f + 4);
}

TEST_CASE_TEMPLATE("references: the contract's attention is attention", T, f32, bf16) {
    const auto exp = [](float x) { return float(std::exp(double(x))); };
    for (int S : {1, 2, 15, 16, 17, 255, 256, 257, 600})
        for (int Dh : {2, 6, 64}) {
            CAPTURE(S);
            CAPTURE(Dh);
            const auto q = random<T>({1, Dh}, aligned, 4), k = random<T>({S, Dh}, aligned, 4), v = random<T>({S, Dh});
            TestTensor<T> out({1, Dh});
            reference::contract::attention(out.data(), q.data(), k.data(), v.data(), Dh, S, Dh, exp);
            CHECK(max_error(out, reference::attention(q, k, v, Dh, S - 1)) <= rounded_tolerance<T>(1, 1e-5));
        }
}

TEST_CASE_TEMPLATE("references: the contract's norm, rotation and silu are those of the papers", T, f32, bf16) {
    const auto x = random<f32>({1, 100}), weight = random<f32>({1, 100});
    TestTensor<T> normed({1, 100});
    reference::contract::rms_norm(normed.data(), x.data(), weight.data(), 100, 1e-5f);
    CHECK(max_error(normed, reference::rms_norm(x, weight, 1e-5)) <= rounded_tolerance<T>(2, 1e-5));

    float x0 = 0.5f, x1 = -2.0f;
    reference::contract::rope(x0, x1, 0.6f, 0.8f);
    CHECK(double(x0) == doctest::Approx(0.5 * 0.6 + 2 * 0.8));
    CHECK(double(x1) == doctest::Approx(-2 * 0.6 + 0.5 * 0.8));
    const auto exp = [](float e) { return float(std::exp(double(e))); };
    CHECK(double(reference::contract::silu_mul(1.5f, 2.0f, exp)) == doctest::Approx(3 / (1 + std::exp(-1.5))));
}

TEST_CASE("references: rounding to bf16 agrees everywhere") {
    Random random{3};
    for (int i = 0; i < 100000; ++i) {
        const float x = float_of(std::uint32_t(random.next()));
        if (!(std::abs(x) <= std::numeric_limits<float>::max()) || std::abs(x) < 0x1p-126f) continue;
        const std::uint16_t bits = reference::contract::round_to<bf16>(x).bits;
        CHECK(bf16_bits(x) == bits);
        CHECK((bits_of(float(reference::to_bf16(double(x)))) >> 16) == bits);
    }
}
