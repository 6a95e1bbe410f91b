#include "support/architectures.hpp"
#include "support/random.hpp"
#include "support/reference.hpp"
#include <doctest/doctest.h>
#include <l3/device/cpu/float_mode.hpp>
#include <l3/ops/cpu/attention/values.hpp>
#include <l3/ops/kv_view.hpp>

using namespace l3;

#if defined(L3_TEST_FUSED_ARCHITECTURES)
namespace {

/// Sums of 1 to row_tile rows over some positions, in two calls, bit for bit; finished rows come out in order.
template <class A, class T>
void check_values() {
    using Load = cpu::ValueLoad<T, A>;
    for (int Dh : {2, 6, 16, 24, 32, 64, 80, 96, 128, 250, 256})
        for (int rows = 1; rows <= cpu::row_tile; ++rows)
            for (int count : {0, 1, 7, 64}) {
                CAPTURE(Dh);
                CAPTURE(rows);
                CAPTURE(count);
                const int stride = align_up(Dh, 32) + 16;
                const auto p = support::random<f32>({rows, cpu::block_positions});
                const auto v = support::random<T>({count * Dh + KVView<T, CPU>::slack}, support::misaligned);
                support::TestTensor<f32> o({rows, stride});
                cpu::in_float_mode([&] {
                    const int first = count / 3;
                    cpu::add_values<A, T>(rows, o.data(), stride, p.data(), v.data(), Dh, first, 64);
                    cpu::add_values<A, T>(rows, o.data(), stride, p.data() + first, v.data() + first * Dh, Dh, count - first, 0);
                });
                Index different = 0;
                for (int r = 0; r < rows; ++r)
                    for (int d = 0; d < Dh; d += Load::dims) {
                        simd::Row<simd::F<A>, Load::registers> sums;
                        for (int i = 0; i < Load::registers; ++i) sums[i] = simd::load<A>(o.row(r) + d + i * simd::width<A>);
                        T out[Load::dims];
                        Load::store(out, sums);
                        for (int i = d; i < std::min(Dh, d + Load::dims); ++i) {
                            f32 expected = 0;
                            for (int t = 0; t < count; ++t)
                                expected = reference::contract::fused(p.row(r)[t], f32(v.data()[t * Dh + i]), expected);
                            const T rounded = reference::contract::round_to<T>(expected);
                            different += support::different_bits(&out[i - d], &rounded, 1);
                        }
                    }
                CHECK(different == 0);
            }
}

}  // namespace

TEST_CASE_TEMPLATE("values: sums have the bits of the contract, bf16", A, L3_TEST_FUSED_ARCHITECTURES) { check_values<A, bf16>(); }
TEST_CASE_TEMPLATE("values: sums have the bits of the contract, f32", A, L3_TEST_FUSED_ARCHITECTURES) { check_values<A, f32>(); }
#endif
