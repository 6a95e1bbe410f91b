// The product with a matrix of weights, y = a * W^T: l3's for one token and many; oneDNN's and OpenBLAS's where they are
// installed. The matrices are taken in turn from more memory than the caches hold, as a model does.
#include "measure.hpp"
#include <l3/ops/cpu/linear.hpp>
#if defined(L3_BENCH_DNNL)
#include <oneapi/dnnl/dnnl.hpp>
#endif
#if defined(L3_BENCH_OPENBLAS)
#include <cblas.h>
#endif
#if defined(_OPENMP)
#include <omp.h>
#endif

namespace {

using namespace bench;

/// M tokens, and as many matrices [N, K] as make 256 MB.
template <class T>
struct Product {
    int threads;
    Index M, N, K, copies;
    l3::Tensor<T, CPU> a, W;
    l3::Tensor<f32, CPU> y;

    explicit Product(const benchmark::State& state)
        : threads(int(state.range(0))), M(state.range(1)), N(state.range(2)), K(state.range(3)),
          copies(std::max<Index>(1, (Index{256} << 20) / (N * K * Index{sizeof(T)}))), a(random_tensor<T>({M, K})),
          W(random_tensor<T>({copies * N, K})), y({M, N}) {}

    [[nodiscard]] l3::TensorView<const T, CPU> matrix(Index i) const { return {W.row(i % copies * N), {N, K}}; }
    void report(benchmark::State& state) const {
        report_bytes(state, threads, double(N * K) * sizeof(T));
        report_flops<T>(state, threads, 2.0 * double(M) * double(N) * double(K));
    }
};

template <class T>
void l3_linear(benchmark::State& state) {
    const Product<T> p(state);
    Context<CPU> ctx(p.threads);
    Index i = 0;
    for (auto _ : state) l3::ops::linear<T, CPU>(ctx, p.y, p.a, p.matrix(i++));
    p.report(state);
}

#if defined(L3_BENCH_DNNL)
template <class T>
void onednn(benchmark::State& state) {
    using namespace dnnl;
    const Product<T> p(state);
    omp_set_num_threads(p.threads);
    constexpr auto type = std::same_as<T, bf16> ? memory::data_type::bf16 : memory::data_type::f32;
    const engine cpu(engine::kind::cpu, 0);
    stream stream(cpu);
    const memory::desc a({p.M, p.K}, type, memory::format_tag::ab), w({p.K, p.N}, type, memory::format_tag::ba),
        y({p.M, p.N}, memory::data_type::f32, memory::format_tag::ab);
    try {
        const matmul multiply(matmul::primitive_desc(matmul::desc(a, w, y), cpu));
        const memory am(a, cpu, p.a.data()), ym(y, cpu, p.y.data());
        Index i = 0;
        for (auto _ : state) {
            const memory wm(w, cpu, const_cast<T*>(p.matrix(i++).data()));
            multiply.execute(stream, {{DNNL_ARG_SRC, am}, {DNNL_ARG_WEIGHTS, wm}, {DNNL_ARG_DST, ym}});
            stream.wait();
        }
        p.report(state);
    } catch (const dnnl::error& e) {
        state.SkipWithError(e.message);  // no bf16 on this processor
    }
}
#endif

#if defined(L3_BENCH_OPENBLAS)
void openblas(benchmark::State& state) {
    const Product<f32> p(state);
    openblas_set_num_threads(p.threads);
    Index i = 0;
    for (auto _ : state)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, int(p.M), int(p.N), int(p.K), 1, p.a.data(), int(p.K),
                    p.matrix(i++).data(), int(p.K), 0, p.y.data(), int(p.N));
    p.report(state);
}
#endif

/// Threads, tokens, and the matrices of SmolLM2-135M and Llama 3.2 1B.
void shapes(benchmark::internal::Benchmark* b) {
    b->ArgNames({"threads", "M", "N", "K"})->UseRealTime()->Unit(benchmark::kMicrosecond);
    for (int threads = 1; threads <= l3::cpu::default_threads(); threads *= 2)
        for (int M : {1, 2, 4, 8, 16, 32, 64, 128, 512})
            for (auto [N, K] : {std::pair{1536, 576}, {576, 1536}, {2048, 2048}, {8192, 2048}, {2048, 8192}})
                if (M == 1 || M == 512 || K == 2048) b->Args({threads, M, N, K});
}

BENCHMARK_TEMPLATE(l3_linear, bf16)->Apply(shapes);
BENCHMARK_TEMPLATE(l3_linear, f32)->Apply(shapes);
#if defined(L3_BENCH_DNNL)
BENCHMARK_TEMPLATE(onednn, bf16)->Apply(shapes);
BENCHMARK_TEMPLATE(onednn, f32)->Apply(shapes);
#endif
#if defined(L3_BENCH_OPENBLAS)
BENCHMARK(openblas)->Apply(shapes);
#endif

}  // namespace
