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

/// The median; 0 of nothing.
inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n == 0 ? 0 : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/// Medians over samples, as those of the runs are: what else the machine does slows both down alike.
struct Limits {
    int threads = 0;
    double stream_gb_per_s = 0;                // reading memory once, front to back
    double fma_gflop_per_s = 0;                // f32 fused multiply-adds, two flops each
    std::optional<double> bf16_gflop_per_s{};  // the instruction for products of bf16, where there is one

    /// The arithmetic that products of T can have.
    template <l3::DType T>
    [[nodiscard]] double peak_gflop_per_s() const {
        return std::same_as<T, bf16> ? bf16_gflop_per_s.value_or(fma_gflop_per_s) : fma_gflop_per_s;
    }
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

/// One sample.
template <l3::DType T>
double dot_gflop_per_s(Context<CPU>& ctx) {
    const std::vector<T> data(16 * 64, T(0.5f));
    const Index pieces = 256 * ctx.threads(), steps = 20000;
    std::atomic<Index> flops = 0;
    const double s = seconds([&] {
        ctx.parallel(pieces, 1, [&](Index begin, Index end, int) {
            f32 out[16];
            for (Index i = begin; i < end; ++i) flops += dot_steps<T, l3::arch::native>(steps, data.data(), out);
        });
    });
    return double(flops) / s / 1e9;
}

/// One sample. memory: larger than all caches, and touched.
inline double stream_gb_per_s(Context<CPU>& ctx, const l3::Buffer<f32, CPU>& memory) {
    const Index block = Index{1} << 18, blocks = memory.count() / block;  // of 1 MB
    std::atomic<f32> sum = 0;                                             // so that reading is not left out
    const double s = seconds([&] {
        ctx.parallel(blocks, 4, [&](Index begin, Index end, int) {
            sum += sum_of<l3::arch::native>(memory.data() + begin * block, (end - begin) * block);
        });
    });
    return double(blocks * block) * sizeof(f32) / s / 1e9;
}

/// Half a gigabyte, or four times the last cache where that is more.
inline l3::Buffer<f32, CPU> streaming_memory() {
    const Index cache = std::max<Index>(sysconf(_SC_LEVEL3_CACHE_SIZE), 0);
    l3::Buffer<f32, CPU> memory(std::max(Index{512} << 20, 4 * cache) / Index{sizeof(f32)});
    Context<CPU> ctx;
    ctx.parallel(memory.count(), 1 << 18,
                 [&](Index begin, Index end, int) { std::fill(memory.data() + begin, memory.data() + end, 0.5f); });
    return memory;
}

/// Takes samples of the limits for so many threads, close in time to what is compared with them.
class LimitMeter {
  public:
    LimitMeter(int threads, const l3::Buffer<f32, CPU>& memory) : ctx_(threads), memory_(memory) {}

    [[nodiscard]] int threads() const { return ctx_.threads(); }

    /// Some samples of a limit, after one to warm up.
    void sample_memory() {
        sample(stream_, [this] { return stream_gb_per_s(ctx_, memory_); });
    }
    void sample_arithmetic() {
        sample(fma_, [this] { return dot_gflop_per_s<f32>(ctx_); });
        if constexpr (l3::arch::has_bf16_dot<l3::arch::native>)
            sample(bf16_, [this] { return dot_gflop_per_s<bf16>(ctx_); });
    }
    /// What was sampled since the last call of begin().
    void begin() { first_stream_ = stream_.size(), first_fma_ = fma_.size(); }
    [[nodiscard]] Limits recent() const { return limits(first_stream_, first_fma_); }
    /// All that was sampled.
    [[nodiscard]] Limits all() const { return limits(0, 0); }

  private:
    template <class F>
    static void sample(std::vector<double>& values, const F& f) {
        constexpr int samples = 3;
        f();
        for (int i = 0; i < samples; ++i) values.push_back(f());
    }
    [[nodiscard]] Limits limits(std::size_t stream, std::size_t fma) const {
        const auto from = [](const std::vector<double>& values, std::size_t first) {
            return median({values.begin() + std::ptrdiff_t(first), values.end()});
        };
        Limits l{threads(), from(stream_, stream), from(fma_, fma)};
        if (!bf16_.empty()) l.bf16_gflop_per_s = from(bf16_, fma);
        return l;
    }

    Context<CPU> ctx_;
    const l3::Buffer<f32, CPU>& memory_;
    std::vector<double> stream_, fma_, bf16_;  // as many of bf16 as of fma
    std::size_t first_stream_ = 0, first_fma_ = 0;
};

}  // namespace bench
