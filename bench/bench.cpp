// l3-bench: the limits of this machine, then prompt and decode of a model beside them.
#include "../examples/support/program.hpp"
#include "measure.hpp"
#include <iomanip>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using Json = nlohmann::ordered_json;

struct Options {
    programs::CommonOptions common;
    std::string shape;
    std::filesystem::path json;
    std::vector<int> threads;
    bench::Plan plan;
};

std::string processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name") || line.starts_with("CPU part")) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

std::string fixed(double value, int digits) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(digits) << value;
    return out.str();
}
/// Cells of a table, right-aligned.
void row(const std::vector<std::string>& cells) {
    for (const std::string& cell : cells) std::cout << std::setw(11) << cell;
    std::cout << std::endl;
}

Json to_json(const bench::Limits& l) {
    return {{"threads", l.threads}, {"stream_gb_per_s", l.stream_gb_per_s}, {"fma_gflop_per_s", l.fma_gflop_per_s},
            {"bf16_gflop_per_s", l.bf16_gflop_per_s ? Json(*l.bf16_gflop_per_s) : Json()}};
}
Json to_json(const bench::Run& r, double load_ms) {
    return {{"shape", r.shape}, {"dtype", r.dtype}, {"isa", r.isa}, {"threads", r.threads}, {"phase", r.phase},
            {"tokens", r.tokens}, {"context", r.context}, {"tok_per_s", r.tok_per_s}, {"gb_per_s", r.gb_per_s},
            {"gflop_per_s", r.gflop_per_s}, {"percent_of_limit", r.percent_of_limit}, {"spread_percent", r.spread_percent},
            {"load_ms", load_ms}};
}

std::vector<bench::Limits> print_limits(const Options& options, Json& report) {
    const auto memory = bench::streaming_memory();
    std::vector<bench::Limits> all;
    row({"limits", "GB/s", "FMA", "bf16 dot", "(GFLOP/s; best of several samples)"});
    for (const int threads : options.threads) {
        const bench::Limits& l = all.emplace_back(bench::measure_limits(threads, memory));
        row({std::to_string(threads) + (threads == 1 ? " thread" : " threads"), fixed(l.stream_gb_per_s, 1),
             fixed(l.fma_gflop_per_s, 0), l.bf16_gflop_per_s ? fixed(*l.bf16_gflop_per_s, 0) : "-"});
        report["limits"].push_back(to_json(l));
    }
    return all;
}

template <l3::DType T>
bench::Subject<T> open_subject(const Options& options) {
    if (!options.common.model.empty()) return bench::from_file<T>(options.common.model, {});
    const auto same_name = [&](const bench::NamedShape& s) { return s.name == options.shape; };
    return bench::random_weights<T>(*std::find_if(std::begin(bench::named_shapes), std::end(bench::named_shapes), same_name));
}

template <l3::DType T>
void print_runs(const Options& options, const std::vector<bench::Limits>& limits, Json& report) {
    const bench::Subject<T> subject = open_subject<T>(options);
    std::cout << '\n' << subject.shape << ", " << l3::dtype_name<T> << ", " << fixed(double(subject.weights->nbytes()) / 1e6, 0)
              << " MB (" << (options.common.model.empty() ? "made" : "loaded") << " in " << fixed(subject.load_ms, 0) << " ms)\n";
    row({"phase", "threads", "tokens", "context", "tok/s", "spread %", "GB/s", "GFLOP/s", "% of limit"});
    for (const bench::Limits& l : limits) {
        for (const char* phase : {"prefill", "decode"}) {
            if ((phase[0] == 'p' ? options.plan.prompt : options.plan.decode) == 0) continue;
            const bench::Run r = bench::measure(subject, l, phase, options.plan);
            row({phase, std::to_string(r.threads), std::to_string(r.tokens), std::to_string(r.context), fixed(r.tok_per_s, 1),
                 fixed(r.spread_percent, 1), fixed(r.gb_per_s, 1), fixed(r.gflop_per_s, 1), fixed(r.percent_of_limit, 1)});
            report["runs"].push_back(to_json(r, subject.load_ms));
        }
    }
}

void run(const Options& options) {
    options.common.require_device();
    if (!options.json.empty()) programs::write_text(options.json, "");  // an error now rather than at the end
    Json report = {{"machine", {{"cpu", processor()}, {"threads", l3::cpu::default_threads()},
                                {"isa", l3::arch::native::name}, {"compiler", compiler()}}},
                   {"limits", Json::array()}, {"runs", Json::array()}};
    std::cout << processor() << ", " << l3::arch::native::name << ", " << compiler() << "\n\n";
    const std::vector<bench::Limits> limits = print_limits(options, report);
    if (!options.common.model.empty() || !options.shape.empty()) {
        if (options.common.dtype == "bf16") print_runs<l3::bf16>(options, limits, report);
        else print_runs<l3::f32>(options, limits, report);
    }
    if (!options.json.empty()) programs::write_text(options.json, report.dump(4) + "\n");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Measures the limits of this machine (reading memory, fused multiply-adds, products of bf16), then prompt "
                 "and decode of a model, as a percentage of them: medians after a warm-up, loading apart.", "l3-bench");
    Options options;
    std::vector<std::string> shapes;
    for (const auto& shape : bench::named_shapes) shapes.emplace_back(shape.name);
    CLI::Option* const model = options.common.add_model(app);
    app.add_option("--shape", options.shape, "Random weights in this shape: smollm2-135m, llama-3.2-1b, llama-3.1-8b")
        ->check(CLI::IsMember(shapes))->excludes(model)->option_text("NAME");
    options.common.add_dtype(app);
    options.common.add_device(app);
    app.add_option("-t,--threads", options.threads, "Threads; may be given several times (default: 1, and the physical cores)")
        ->allow_extra_args(false)->transform(programs::whole_number(1, 1024))->option_text("N");
    const auto add_count = [&app](const char* name, l3::Index& value, const char* description) {
        app.add_option(name, value, description)->transform(programs::whole_number(0))->option_text("N");
    };
    add_count("-p,--prompt", options.plan.prompt, "Tokens of the prompt; 0: none (default: 512)");
    add_count("-n,--decode", options.plan.decode, "Tokens decoded; 0: none (default: 64)");
    add_count("-c,--context", options.plan.context, "Tokens in the cache before either begins (default: 0)");
    app.add_option("--repeats", options.plan.repeats, "Runs of each after the one to warm up (default: 5)")
        ->transform(programs::whole_number(1))->option_text("N");
    app.add_option("--json", options.json, "Writes all numbers as JSON")->option_text("FILE");
    return programs::run(app, argc, argv, [&] {
        if (options.threads.empty()) options.threads = {1, l3::cpu::default_threads()};
        std::sort(options.threads.begin(), options.threads.end());
        options.threads.erase(std::unique(options.threads.begin(), options.threads.end()), options.threads.end());
        run(options);
    });
}
