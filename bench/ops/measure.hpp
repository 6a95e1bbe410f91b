#pragma once
// Google Benchmark with figures beside the limits of the machine, sampled in the same process.
#include "../limits.hpp"
#include <benchmark/benchmark.h>
#include <l3/tensor/tensor.hpp>
#include <map>
#include <random>

namespace bench {

/// The limits for so many threads, measured when first asked for.
inline const Limits& limits(int threads) {
    static const l3::Buffer<f32, CPU> memory = streaming_memory();
    static std::map<int, Limits> known;
    const auto [at, is_new] = known.try_emplace(threads);
    if (is_new) {
        LimitMeter meter(threads, memory);
        meter.sample_memory();
        meter.sample_arithmetic();
        at->second = meter.all();
    }
    return at->second;
}

/// States bytes of memory traffic an iteration, and their share of streaming.
inline void report_bytes(benchmark::State& state, int threads, double bytes) {
    using benchmark::Counter;
    constexpr auto rate = Counter::kIsIterationInvariantRate;
    state.counters["GB/s"] = Counter(bytes / 1e9, rate);
    state.counters["%_of_stream"] = Counter(100 * bytes / 1e9 / limits(threads).stream_gb_per_s, rate);
}
/// States flops an iteration, and their share of the peak for products of T.
template <l3::DType T>
void report_flops(benchmark::State& state, int threads, double flops) {
    using benchmark::Counter;
    constexpr auto rate = Counter::kIsIterationInvariantRate;
    state.counters["GFLOP/s"] = Counter(flops / 1e9, rate);
    state.counters["%_of_peak"] = Counter(100 * flops / 1e9 / limits(threads).template peak_gflop_per_s<T>(), rate);
}

/// A tensor of numbers around zero.
template <class T>
l3::Tensor<T, CPU> random_tensor(const l3::Shape& shape) {
    l3::Tensor<T, CPU> t(shape);
    std::minstd_rand random(1);
    std::uniform_real_distribution<f32> uniform(-1, 1);
    for (Index i = 0; i < t.numel(); ++i) t.data()[i] = T(i < 65536 ? uniform(random) : f32(t.data()[i - 65536]));
    return t;
}

}  // namespace bench
