// What a token costs beside its products and attention, in the sizes of Llama 3.2 1B: one token, one thread.
#include "measure.hpp"
#include <l3/ops/cpu/argmax.hpp>
#include <l3/ops/cpu/embed.hpp>
#include <l3/ops/cpu/rms_norm.hpp>
#include <l3/ops/cpu/rope.hpp>
#include <l3/ops/cpu/silu_mul.hpp>
#include <l3/session/sampler.hpp>

namespace {

using namespace bench;
constexpr Index H = 2048, F = 8192, V = 128256, Dh = 64, heads = 40;

void rms_norm(benchmark::State& state) {
    const auto x = random_tensor<f32>({1, H}), weight = random_tensor<f32>({H});
    const l3::Tensor<bf16, CPU> y({1, H});
    Context<CPU> ctx(1);
    for (auto _ : state) l3::ops::rms_norm<bf16, CPU>(ctx, y, x, {weight, 1e-5f});
}
void rope(benchmark::State& state) {
    const auto x = random_tensor<f32>({1, heads * Dh}), cos = random_tensor<f32>({1, Dh / 2}), sin = random_tensor<f32>({1, Dh / 2});
    Context<CPU> ctx(1);
    for (auto _ : state) l3::ops::rope<CPU>(ctx, x, l3::Rotary<CPU>{cos, sin});
}
void rope_table(benchmark::State& state) {
    const l3::Tensor<f32, CPU> cos({1, Dh / 2}), sin({1, Dh / 2});
    const std::vector<double> inv_freq(Dh / 2, 0.37);
    Context<CPU> ctx(1);
    for (auto _ : state) l3::ops::rope_table<CPU>(ctx, cos, sin, inv_freq, {7000, 1});
}
void silu_mul(benchmark::State& state) {
    const auto gate = random_tensor<f32>({1, F}), up = random_tensor<f32>({1, F});
    const l3::Tensor<bf16, CPU> h({1, F});
    Context<CPU> ctx(1);
    for (auto _ : state) l3::ops::silu_mul<bf16, CPU>(ctx, h, gate, up);
}
void sample(benchmark::State& state, const l3::SamplingOptions& options) {
    auto logits = random_tensor<f32>({V});
    for (Index i = 0; i < V; ++i) logits.data()[i] = 8 * logits.data()[i] - f32(i % 97);
    l3::Sampler sampler(options);
    for (auto _ : state) benchmark::DoNotOptimize(sampler.sample({logits.data(), std::size_t(V)}));
}

BENCHMARK(rms_norm)->Unit(benchmark::kMicrosecond);
BENCHMARK(rope)->Unit(benchmark::kMicrosecond);
BENCHMARK(rope_table)->Unit(benchmark::kMicrosecond);
BENCHMARK(silu_mul)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sample, greedy, {.temperature = 0})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sample, temperature, {.temperature = 0.6, .seed = 1})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sample, top_p, {.temperature = 0.6, .top_p = 0.9, .seed = 1})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sample, top_k, {.temperature = 0.6, .top_k = 50, .seed = 1})->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sample, min_p, {.temperature = 0.6, .min_p = 0.05, .seed = 1})->Unit(benchmark::kMicrosecond);

}  // namespace
