// Attention over the cache: decode against streaming its keys and values, prefill against the arithmetic peak.
#include "measure.hpp"
#include <l3/ops/cpu/attention.hpp>

namespace {

using namespace bench;

/// range: threads, tokens of the call, positions before it, query heads, key-value heads, head_dim.
template <class T>
void attention(benchmark::State& state) {
    using View = l3::KVView<T, CPU>;
    const auto threads = int(state.range(0)), Nkv = int(state.range(4)), Dh = int(state.range(5));
    const Index M = state.range(1), S = state.range(2), Nq = state.range(3);
    const Index capacity = View::round_capacity(S + M), k_size = View::k_elements(Nkv, Dh, capacity),
                v_size = View::v_elements(Nkv, Dh, capacity);
    // As many layers as the caches do not hold.
    const Index layers = std::max<Index>(1, (Index{256} << 20) / ((k_size + v_size) * Index{sizeof(T)}));
    const auto k = random_tensor<T>({layers, k_size}), v = random_tensor<T>({layers, v_size}), q = random_tensor<T>({M, Nq * Dh});
    const l3::Tensor<T, CPU> out({M, Nq * Dh});
    Context<CPU> ctx(threads);
    Index layer = 0;
    for (auto _ : state) {
        const View kv{k.row(layer), v.row(layer), Nkv, Dh, capacity};
        l3::ops::attention<T, CPU>(ctx, out, q, kv, {S, M});
        layer = (layer + 1) % layers;
    }
    const double pairs = double(M) * double(S) + double(M) * double(M + 1) / 2;
    report_bytes(state, threads, 2.0 * Nkv * Dh * double(S + M) * sizeof(T));
    report_flops<f32>(state, threads, 4.0 * double(Nq) * Dh * pairs);
}

void decode(benchmark::internal::Benchmark* b) {
    b->ArgNames({"threads", "M", "before", "Nq", "Nkv", "Dh"})->UseRealTime()->Unit(benchmark::kMicrosecond);
    for (int threads = 1; threads <= l3::cpu::default_threads(); threads *= 2)
        for (int before : {100, 2047, 8191})
            for (int Dh : {64, 128}) b->Args({threads, 1, before, 32, 8, Dh});
}
void prefill(benchmark::internal::Benchmark* b) {
    b->ArgNames({"threads", "M", "before", "Nq", "Nkv", "Dh"})->UseRealTime()->Unit(benchmark::kMillisecond);
    for (int threads = 1; threads <= l3::cpu::default_threads(); threads *= 2)
        for (int before : {0, 3584}) b->Args({threads, 512, before, 32, 8, 64});
}

BENCHMARK_TEMPLATE(attention, bf16)->Apply(decode)->Apply(prefill);
BENCHMARK_TEMPLATE(attention, f32)->Apply(decode);

}  // namespace
