#include <doctest/doctest.h>
#include <l3/model/rope_inv_freq.hpp>

using namespace l3;

namespace {

void check_value(double found, double expected) {
    CAPTURE(found);
    CAPTURE(expected);
    CHECK(std::abs(found - expected) <= 1e-14 * expected);
}

}  // namespace

TEST_CASE("rope_inv_freq: the unscaled frequencies are powers of theta") {
    const auto f = rope_inv_freq({.rope_theta = 10000}, 8);
    REQUIRE(f.size() == 4);
    CHECK(f[0] == 1);
    check_value(f[1], 0.1);
    check_value(f[2], 0.01);
    check_value(f[3], 0.001);
}

TEST_CASE("acceptance A10: llama3 scaling changes the slow bands, keeps the fast ones, blends in between") {
    RopeParameters rope;
    rope.rope_theta = 500000;
    rope.rope_type = RopeType::llama3;
    rope.factor = 32;
    rope.low_freq_factor = 1;
    rope.high_freq_factor = 4;
    rope.original_max_position_embeddings = 8192;
    const auto narrow = rope_inv_freq(rope, 64);
    check_value(narrow[14], 3.211445994752591e-03);
    check_value(narrow[15], 1.290547928209264e-03);
    check_value(narrow[16], 4.2955679655936815e-04);
    check_value(narrow[17], 9.70828780262767e-05);
    check_value(narrow[18], 1.9461638184831125e-05);
    check_value(narrow[31], 9.41830672543491e-08);

    rope.factor = 8;
    const auto wide = rope_inv_freq(rope, 128);
    check_value(wide[28], 3.211445994752591e-03);
    check_value(wide[29], 2.166570763503359e-03);
    check_value(wide[34], 1.785078127679965e-04);
    check_value(wide[35], 9.556212353964683e-05);
}

TEST_CASE("acceptance A10: the divisors of a GGUF file give the same frequencies as the rule they were made from") {
    RopeParameters rope;
    rope.rope_theta = 500000;
    const auto base = rope_inv_freq(rope, 64);
    RopeParameters scaled = rope;
    scaled.rope_type = RopeType::llama3;
    scaled.factor = 32;
    scaled.original_max_position_embeddings = 8192;
    const auto expected = rope_inv_freq(scaled, 64);
    for (std::size_t i = 0; i < base.size(); ++i) rope.divisors.push_back(double(float(base[i] / expected[i])));
    const auto found = rope_inv_freq(rope, 64);
    for (std::size_t i = 0; i < found.size(); ++i)
        CHECK(std::abs(found[i] - expected[i]) <= 1e-7 * expected[i]);  // the divisors are f32
}

TEST_CASE("acceptance A11: linear scaling divides positions, so position 8 with factor 4 is position 2 without") {
    RopeParameters rope;
    const auto base = rope_inv_freq(rope, 48);
    rope.rope_type = RopeType::linear;
    rope.factor = 4;
    const auto scaled = rope_inv_freq(rope, 48);
    for (std::size_t i = 0; i < base.size(); ++i) CHECK(scaled[i] * 8 == base[i] * 2);  // a power of two: exact
}
