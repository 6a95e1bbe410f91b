#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"
#include <doctest/doctest.h>
#include <l3/device/cpu/float_mode.hpp>
#include <l3/ops/cpu/attention/keys.hpp>

using namespace l3;
namespace contract = reference::contract;

#if defined(L3_TEST_FUSED_ARCHITECTURES)
namespace {

/// Scores of 1 to row_tile rows and some groups of positions, bit for bit.
template <class A, class T>
void check_scores() {
    using Step = cpu::KeyStep<T, A>;
    for (int Dh : {2, 6, 24, 64})
        for (int rows = 1; rows <= cpu::row_tile; ++rows)
            for (int groups : {1, 2, 3, 5, 9}) {
                CAPTURE(Dh);
                CAPTURE(rows);
                CAPTURE(groups);
                const auto q = support::random<T>({rows, Dh}), k = support::random<T>({groups * 16, Dh}, support::misaligned);
                support::TestTensor<T> grouped({groups * 16 * Dh}, support::misaligned);
                for (int s = 0; s < groups * 16; ++s)
                    for (int d = 0; d < Dh; ++d)
                        grouped.data()[(s / 16 * Dh + d / Step::dims * Step::dims) * 16 + s % 16 * Step::dims + d % Step::dims] =
                            k.row(s)[d];
                std::vector<typename Step::Query> packed(std::size_t(Dh / Step::dims * Step::queries * rows));
                for (int r = 0; r < rows; ++r)
                    for (int s = 0; s < Dh / Step::dims; ++s)
                        Step::pack(&packed[std::size_t(s * Step::queries * rows + r)], rows, q.row(r) + s * Step::dims);
                support::TestTensor<f32> scores({rows, cpu::block_positions}), expected({rows, cpu::block_positions});
                cpu::in_float_mode([&] {
                    cpu::score_rows<A, T>(rows, packed.data(), grouped.data(), Dh, groups, 0.3f, scores.data(), 64);
                });
                for (int r = 0; r < rows; ++r)
                    for (int s = 0; s < groups * 16; ++s) {
                        f32 sum = 0;
                        for (int d = 0; d < Dh; d += Step::dims)
                            for (int i = Step::dims - 1; i >= 0; --i)
                                sum = contract::fused(f32(k.row(s)[d + i]), f32(q.row(r)[d + i]), sum);
                        expected.row(r)[s] = contract::product(sum, 0.3f);
                    }
                CHECK(support::different_bits(scores.data(), expected.data(), scores.numel()) == 0);
            }
}

}  // namespace

TEST_CASE_TEMPLATE("keys: scores have the bits of the contract, bf16", A, L3_TEST_FUSED_ARCHITECTURES) { check_scores<A, bf16>(); }
TEST_CASE_TEMPLATE("keys: scores have the bits of the contract, f32", A, L3_TEST_FUSED_ARCHITECTURES) { check_scores<A, f32>(); }
#endif
