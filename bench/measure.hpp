#pragma once
// How fast a model goes: prompt and decode apart, beside the limits of the machine.
#include "limits.hpp"
#include "subject.hpp"

namespace bench {

/// What so many tokens cost, one at a time or at once, after a context.
struct Cost {
    double bytes = 0;  // read from memory at least: every weight that is used once for each call, and the cache
    double flops = 0;
};

/// The cost of evaluating M tokens in one call of the model, whose cache holds `context` positions before.
template <DType T>
Cost cost(const LlamaConfig& c, Index M, Index context) {
    const double H = c.hidden_size, F = c.intermediate_size, L = c.num_hidden_layers, V = c.vocab_size;
    const double q = double(c.num_attention_heads) * c.head_dim, kv = double(c.num_key_value_heads) * c.head_dim;
    const double layers = L * (2 * q * H + 2 * kv * H + 3 * F * H), head = V * H;  // elements of matrices
    const auto m = double(M), s = double(context);
    const double pairs = m * s + m * (m + 1) / 2;                                  // (query, position) of a head
    return {.bytes = double(sizeof(T)) * (layers + head + 2 * kv * L * (s + m)) + sizeof(f32) * (2 * L + 1) * H,
            .flops = 2 * (m * layers + head) + 4 * q * L * pairs};                 // logits of the last token only
}

struct Run {
    std::string shape;
    std::string_view dtype, isa;
    int threads = 0;
    std::string_view phase;
    Index tokens = 0, context = 0;
    double tok_per_s = 0, gb_per_s = 0, gflop_per_s = 0, percent_of_limit = 0, spread_percent = 0;
};

struct Plan {
    Index prompt = 512, decode = 64, context = 0, chunk = 512;
    int repeats = 5;
};

/// Median and spread ((largest - smallest) / median) of the seconds that f() takes after one call to warm up.
template <class F>
std::pair<double, double> repeat(int repeats, const F& f) {
    std::vector<double> times;
    f();
    for (int i = 0; i < repeats; ++i) times.push_back(seconds(f));
    std::sort(times.begin(), times.end());
    const std::size_t n = times.size();
    const double median = (times[(n - 1) / 2] + times[n / 2]) / 2;
    return {median, (times.back() - times.front()) / median * 100};
}

/// Runs one phase, and states it beside its limit: memory for decode, arithmetic for a prompt.
template <DType T>
Run measure(const Subject<T>& subject, const Limits& limits, std::string_view phase, const Plan& plan) {
    const bool decode = phase == "decode";
    const Index tokens = decode ? plan.decode : plan.prompt, call = decode ? 1 : plan.chunk;
    auto sequence = subject.new_sequence(limits.threads, plan.context + tokens);
    std::vector<Token> ids;
    for (Index i = 0; i < plan.context + tokens; ++i) ids.push_back(Token(i * 7919 % subject.config->vocab_size));
    const auto evaluate = [&](Index begin, Index end, Index at_once) {
        for (; begin < end; begin += at_once) {
            const auto n = std::min(at_once, end - begin);
            const int last = int(n - 1);
            sequence.evaluate(std::span(ids).subspan(std::size_t(begin), std::size_t(n)), std::span(&last, 1));
        }
    };
    evaluate(0, plan.context, plan.chunk);
    const auto [time, spread] = repeat(plan.repeats, [&] {
        sequence.truncate(plan.context);
        evaluate(plan.context, plan.context + tokens, call);
    });

    Cost total;
    for (Index at = 0; at < tokens; at += call) {
        const Cost one = cost<T>(*subject.config, std::min(call, tokens - at), plan.context + at);
        total.bytes += one.bytes;
        total.flops += one.flops;
    }
    Run run{subject.shape, dtype_name<T>, arch::native::name, limits.threads, phase, tokens, plan.context};
    run.tok_per_s = double(tokens) / time;
    run.gb_per_s = total.bytes / time / 1e9;
    run.gflop_per_s = total.flops / time / 1e9;
    const double peak = std::same_as<T, bf16> ? limits.bf16_gflop_per_s.value_or(limits.fma_gflop_per_s) : limits.fma_gflop_per_s;
    run.percent_of_limit = 100 * (decode ? run.gb_per_s / limits.stream_gb_per_s : run.gflop_per_s / peak);
    run.spread_percent = spread;
    return run;
}

}  // namespace bench
