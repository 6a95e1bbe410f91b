#include "support/architectures.hpp"
#include "support/random.hpp"
#include <cmath>
#include <doctest/doctest.h>
#include <l3/ops/cpu/attention/tile.hpp>

using namespace l3;

TEST_CASE("tile: tiles are the tokens of a call once, in order, and none crosses a border of blocks") {
    for (int group : {1, 2, 3, 4, 7, 8, 40})
        for (Index first : {0, 1, 5, 250, 255, 256, 1000})
            for (Index count : {0, 1, 2, 6, 31, 32, 33, 300}) {
                CAPTURE(group);
                CAPTURE(first);
                CAPTURE(count);
                support::TestTensor<f32> q({count, group * 4});
                const KVView<f32, CPU> kv{nullptr, nullptr, 1, 4, 1536};
                const cpu::AttentionCall<f32> call(q, q, kv, {first, count});
                CHECK(call.tile_rows() == call.tile_tokens * group);
                CHECK(cpu::block_positions % call.tile_tokens == 0);
                Index next = 0;
                for (Index i = 0; i < call.tiles(); ++i) {
                    const cpu::AttentionTile tile = call.tile(i, 0);
                    CHECK(tile.first_token == next);
                    CHECK(tile.first_position == first + next);
                    CHECK(tile.rows > 0);
                    CHECK(tile.rows <= call.tile_rows());
                    CHECK(tile.rows % group == 0);
                    next += tile.rows / group;
                    CHECK(tile.first_position / cpu::block_positions == (first + next - 1) / cpu::block_positions);
                }
                CHECK(next == count);
            }
}

TEST_CASE_TEMPLATE("acceptance F10: softmax of a row", A, L3_TEST_ARCHITECTURES) {
    for (Index n : {1, 2, 15, 16, 17, 40, 256}) {
        CAPTURE(n);
        auto scores = support::random<f32>({1, 256}, support::aligned, 5);
        for (Index i = n; i < 256; ++i) scores.data()[i] = NAN;  // what is masked is never looked at
        const auto before = scores.clone();
        f32 max = 0, sum = 0;
        cpu::in_float_mode([&] { cpu::detail::softmax<A>(scores.data(), n, max, sum); });
        f32 highest = before.data()[0];
        for (Index i = 0; i < n; ++i) highest = std::max(highest, before.data()[i]);
        CHECK(max == highest);
        double exact_sum = 0, worst = 0;
        for (Index i = 0; i < n; ++i) {
            const double exact = std::exp(double(before.data()[i]) - double(max));
            exact_sum += exact;
            worst = std::max(worst, std::abs(double(scores.data()[i]) - exact) / exact);
        }
        // The difference is rounded (of size up to 10: 10 units), exp errs by two units of its own.
        CHECK(worst <= 12 * 0x1p-24);
        CHECK(std::abs(double(sum) - exact_sum) <= (12 + 20) * 0x1p-24 * exact_sum);
        for (Index i = n; i < align_up<Index>(n, 16); ++i) CHECK(scores.data()[i] == 0);
    }
    alignas(64) f32 far[16] = {0, -1000}, equal[16] = {1e30f, 1e30f};
    f32 max = 0, sum = 0;
    cpu::in_float_mode([&] { cpu::detail::softmax<A>(far, 2, max, sum); });
    CHECK(far[0] / sum == 1);
    CHECK(far[1] / sum == 0);
    cpu::in_float_mode([&] { cpu::detail::softmax<A>(equal, 2, max, sum); });
    CHECK(equal[0] / sum == 0.5f);
    CHECK(equal[1] / sum == 0.5f);
}
