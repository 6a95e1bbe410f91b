#pragma once
// What this machine can do at most, measured in the same process as what is compared with it.
#include <algorithm>
#include <chrono>
#include <l3/device/cpu/context.hpp>
#include <l3/device/cpu/simd_bf16.hpp>
#include <l3/device/cpu/simd_f32.hpp>
#include <optional>
#include <unistd.h>
#include <vector>

namespace bench {

using l3::bf16;
using l3::Context;
using l3::CPU;
using l3::f32;
using l3::Index;

/// Seconds that f() takes.
template <class F>
double seconds(const F& f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The best of each, over several samples.
struct Limits {
    int threads = 0;
    double stream_gb_per_s = 0;                // reading memory once, front to back
    double fma_gflop_per_s = 0;                // f32 fused multiply-adds, two flops each
    std::optional<double> bf16_gflop_per_s{};  // the instruction for products of bf16, where there is one
};

/// Steps of the canonical dot whose inputs stay in the first-level cache, in independent sums. Returns their flops.
template <l3::DType T, class A>
L3_NOINLINE Index dot_steps(Index steps, const T* data, f32* out) {
    using Dot = l3::simd::Dot<T, A>;
    using F = l3::simd::F<A>;
    // Enough sums to hide the latency of the instruction, few enough to stay in registers with their inputs.
    constexpr int M = A::register_count >= 32 ? 4 : 3, N = A::register_count >= 32 ? 5 : 3;
    typename Dot::Input x[std::size_t(M * Dot::part)];
    for (int m = 0; m < M; ++m) Dot::pack(x + m * Dot::part, data + m * Dot::part);
    l3::simd::Row<const T*, N> w;
    for (int n = 0; n < N; ++n) w[n] = data + (M + n) * Dot::part;
    l3::simd::Grid<F, M, N> acc;
    for (auto& row : acc)
        for (F& sum : row) sum = F(0.0f);
    for (Index s = 0; s < steps; ++s) Dot::template accumulate<M, N>(acc, x, w);
    F sum(0.0f);
    for (const auto& row : acc)
        for (const F& a : row) sum += a;
    l3::simd::store<A>(out, sum);
    return steps * M * N * Dot::part * 2;
}

/// The sum of count elements, a multiple of sixteen registers.
template <class A>
L3_NOINLINE f32 sum_of(const f32* data, Index count) {
    constexpr int n = 16;
    constexpr Index step = Index{n} * l3::simd::width<A>;
    l3::simd::F<A> sums[n];
    for (auto& sum : sums) sum = l3::simd::F<A>(0.0f);
    for (Index i = 0; i + step <= count; i += step)
        L3_UNROLL
        for (int k = 0; k < n; ++k) sums[k] += l3::simd::load<A>(data + i + k * l3::simd::width<A>);
    for (int k = 1; k < n; ++k) sums[0] += sums[k];
    f32 lanes[std::size_t(l3::simd::width<A>)];
    l3::simd::store<A>(lanes, sums[0]);
    return lanes[0];
}

template <l3::DType T>
double dot_gflop_per_s(Context<CPU>& ctx) {
    using A = l3::arch::native;
    const std::vector<T> data(16 * 64, T(0.5f));
    const Index pieces = 64 * ctx.threads(), steps = 20000;
    double best = 0;
    for (int sample = 0; sample < 5; ++sample) {
        std::atomic<Index> flops = 0;
        const double s = seconds([&] {
            ctx.parallel(pieces, 1, [&](Index begin, Index end, int) {
                f32 out[16];
                for (Index i = begin; i < end; ++i) flops += dot_steps<T, A>(steps, data.data(), out);
            });
        });
        best = std::max(best, double(flops) / s / 1e9);
    }
    return best;
}

/// memory: larger than all caches, and touched.
inline double stream_gb_per_s(Context<CPU>& ctx, const l3::Buffer<f32, CPU>& memory) {
    const Index block = Index{1} << 18, blocks = memory.count() / block;  // of 1 MB
    double best = 0;
    for (int sample = 0; sample < 7; ++sample) {
        std::atomic<f32> sum = 0;  // so that reading is not left out
        const double s = seconds([&] {
            ctx.parallel(blocks, 4, [&](Index begin, Index end, int) {
                sum += sum_of<l3::arch::native>(memory.data() + begin * block, (end - begin) * block);
            });
        });
        best = std::max(best, double(blocks * block) * sizeof(f32) / s / 1e9);
    }
    return best;
}

/// Half a gigabyte, or four times the last cache where that is more.
inline l3::Buffer<f32, CPU> streaming_memory() {
    const Index cache = std::max<Index>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
    l3::Buffer<f32, CPU> memory(std::max(Index{512} << 20, 4 * cache) / Index{sizeof(f32)});
    Context<CPU> ctx;
    ctx.parallel(memory.count(), 1 << 18, [&](Index begin, Index end, int) { std::fill(memory.data() + begin, memory.data() + end, 0.5f); });
    return memory;
}

inline Limits measure_limits(int threads, const l3::Buffer<f32, CPU>& memory) {
    Context<CPU> ctx(threads);
    Limits limits{.threads = threads};
    limits.stream_gb_per_s = stream_gb_per_s(ctx, memory);
    limits.fma_gflop_per_s = dot_gflop_per_s<f32>(ctx);
    if constexpr (l3::arch::has_bf16_dot<l3::arch::native>) limits.bf16_gflop_per_s = dot_gflop_per_s<bf16>(ctx);
    return limits;
}

}  // namespace bench
