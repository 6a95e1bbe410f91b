#pragma once
// How fast a model goes: prompt and decode apart, beside the limits of the machine.
#include "breakdown.hpp"
#include "limits.hpp"

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
    double tok_per_s = 0, gb_per_s = 0, gflop_per_s = 0;
    double limit = 0;  // GB/s for decode, GFLOP/s for a prompt, measured just before and after
    double percent_of_limit = 0, spread_percent = 0;
    std::optional<Parts> parts{};  // of decode
};

struct Plan {
    Index prompt = 512, decode = 64, context = 0;
    int repeats = 5;
};

/// Median and spread ((largest - smallest) / median) of the seconds that f() takes after one call to warm up.
template <class F>
std::pair<double, double> repeat(int repeats, const F& f) {
    std::vector<double> times;
    f();
    for (int i = 0; i < repeats; ++i) times.push_back(seconds(f));
    const auto [least, most] = std::minmax_element(times.begin(), times.end());
    return {median(times), (*most - *least) / median(times) * 100};
}

/// Runs one phase, and states it beside its limit: memory for decode, arithmetic for a prompt.
template <DType T>
Run measure(const Subject<T>& subject, LimitMeter& meter, std::string_view phase, const Plan& plan) {
    const bool decode = phase == "decode";
    const Index tokens = decode ? plan.decode : plan.prompt, call = decode ? 1 : chunk;
    auto sequence = subject.new_sequence(meter.threads(), plan.context + tokens);
    const std::vector<Token> ids = subject.some_ids(plan.context + tokens);
    const auto sample_limit = [&] { decode ? meter.sample_memory() : meter.sample_arithmetic(); };
    evaluate(sequence, ids, 0, plan.context, chunk);
    meter.begin();
    sample_limit();
    const auto [time, spread] = repeat(plan.repeats, [&] {
        sequence.truncate(plan.context);
        evaluate(sequence, ids, plan.context, plan.context + tokens, call);
    });
    sample_limit();

    Cost total;
    for (Index at = 0; at < tokens; at += call) {
        const Cost one = cost<T>(*subject.config, std::min(call, tokens - at), plan.context + at);
        total.bytes += one.bytes;
        total.flops += one.flops;
    }
    Run run{subject.shape, dtype_name<T>, arch::native::name, meter.threads(), phase, tokens, plan.context};
    run.tok_per_s = double(tokens) / time;
    run.gb_per_s = total.bytes / time / 1e9;
    run.gflop_per_s = total.flops / time / 1e9;
    run.limit = decode ? meter.recent().stream_gb_per_s : meter.recent().template peak_gflop_per_s<T>();
    run.percent_of_limit = 100 * (decode ? run.gb_per_s : run.gflop_per_s) / run.limit;
    run.spread_percent = spread;
    if (decode) run.parts = breakdown(subject, meter.threads(), plan.context, tokens);
    return run;
}

/// The cost of changing the middle of a chat: one half is kept, the other evaluated again.
struct Edit {
    int threads = 0;
    Index tokens = 0, kept = 0, evaluated = 0;
    double cold_ms = 0, edit_ms = 0;  // medians

    [[nodiscard]] double ratio() const { return cold_ms / edit_ms; }
};

/// Evaluates so many tokens from nothing, then forgets the second half and evaluates it again; the two in turn.
template <DType T>
Edit measure_edit(const Subject<T>& subject, int threads, Index tokens, int repeats) {
    Edit edit{threads, tokens, tokens / 2, tokens - tokens / 2};
    auto sequence = subject.new_sequence(threads, tokens);
    const std::vector<Token> ids = subject.some_ids(tokens);
    const auto from = [&](Index kept) {
        return 1e3 * seconds([&] {
            sequence.truncate(kept);
            evaluate(sequence, ids, kept, tokens, chunk);
        });
    };
    evaluate(sequence, ids, 0, std::min(tokens, chunk), chunk);
    std::vector<double> cold, again;
    for (int i = 0; i < repeats; ++i) {
        cold.push_back(from(0));
        again.push_back(from(edit.kept));
    }
    edit.cold_ms = median(cold);
    edit.edit_ms = median(again);
    return edit;
}

}  // namespace bench
