// l3-bench: the limits of this machine, then prompt and decode of a model beside them.
#include "../examples/support/output_file.hpp"
#include "../examples/support/program.hpp"
#include "exactness.hpp"
#include "plot.hpp"
#include <ctime>
#include <deque>
#include <nlohmann/json.hpp>

namespace {

using bench::fixed;
using Json = nlohmann::ordered_json;

struct Options {
    programs::CommonOptions common;
    std::string shape;
    std::filesystem::path config, json, plot, plot_parts;
    std::vector<int> threads;
    std::vector<l3::Index> contexts;
    bool edit = false, exactness = false;
    bench::Plan plan;

    [[nodiscard]] bool has_subject() const { return !common.model.empty() || !shape.empty() || !config.empty(); }
};

std::string processor() {
    std::ifstream in("/proc/cpuinfo");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("model name") || line.starts_with("CPU part")) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string today() {
    const std::time_t now = std::time(nullptr);
    char text[16];
    return {text, std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now))};
}

std::string compiler() {
#if defined(__clang__)
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
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
    Json json = {{"shape", r.shape}, {"dtype", r.dtype}, {"isa", r.isa}, {"threads", r.threads}, {"phase", r.phase},
                 {"tokens", r.tokens}, {"context", r.context}, {"tok_per_s", r.tok_per_s}, {"gb_per_s", r.gb_per_s},
                 {"gflop_per_s", r.gflop_per_s}, {"limit", r.limit}, {"percent_of_limit", r.percent_of_limit},
                 {"spread_percent", r.spread_percent}, {"load_ms", load_ms}};
    for (std::size_t i = 0; r.parts && i < bench::part_count; ++i) json["parts"][bench::part_names[i]] = (*r.parts)[i];
    return json;
}
Json to_json(const bench::Edit& e) {
    return {{"threads", e.threads}, {"tokens", e.tokens}, {"kept", e.kept}, {"evaluated", e.evaluated},
            {"cold_ms", e.cold_ms}, {"edit_ms", e.edit_ms}, {"ratio", e.ratio()}};
}
Json to_json(const bench::Price& p, std::string_view dtype) {
    return {{"matrix", p.matrix.name}, {"rows", p.matrix.rows}, {"cols", p.matrix.cols}, {"dtype", dtype},
            {"tokens", p.tokens}, {"threads", p.threads}, {"l3_ms", p.l3_ms}, {"free_ms", p.free_ms},
            {"ratio", p.ratio()}};
}

/// What a random model is made like, and what it is called.
std::pair<std::string, l3::LlamaConfig> random_shape(const Options& options) {
    if (options.config.empty()) return {options.shape, bench::named_config(options.shape)};
    const bool usual = options.config.filename() == "config.json" && options.config.has_parent_path();
    const std::filesystem::path name = usual ? options.config.parent_path().filename() : options.config.stem();
    return {name.string(), bench::config_from_file(options.config)};
}

/// The measurements of one dtype, in the order in which they are printed.
template <l3::DType T>
class Bench {
  public:
    explicit Bench(const Options& options) : options_(options), subject_(open_subject(options)) {}

    void run(Json& report) {
        print_limits();
        if (subject_ && options_.plan.prompt + options_.plan.decode > 0) print_runs();
        for (const bench::LimitMeter& meter : meters_) {
            limits_.push_back(meter.all());
            report["limits"].push_back(to_json(limits_.back()));
        }
        for (const bench::Run& r : runs_) report["runs"].push_back(to_json(r, subject_->load_ms));
        if (options_.edit) report["edit"] = to_json(print_edit());
        if (!options_.exactness) return;
        for (const bench::Price& p : print_exactness()) report["exactness"].push_back(to_json(p, l3::dtype_name<T>));
    }
    void draw() const {
        if (options_.plot.empty() && options_.plot_parts.empty()) return;
        const bench::Caption caption{subject_->shape, std::string(l3::dtype_name<T>), processor(), compiler()};
        if (!options_.plot.empty()) programs::write_text(options_.plot, bench::roofline<T>(caption, limits_, runs_));
        if (!options_.plot_parts.empty())
            programs::write_text(options_.plot_parts, bench::stacked_parts(caption, runs_));
    }

  private:
    static std::optional<bench::Subject<T>> open_subject(const Options& options) {
        if (!options.has_subject()) return std::nullopt;
        if (!options.common.model.empty()) return bench::from_file<T>(options.common.model, {.access = l3::io::FileAccess::read});
        return std::apply(bench::random_weights<T>, random_shape(options));
    }

    void print_limits() {
        row({"limits", "GB/s", "FMA", "bf16 dot", "  (GFLOP/s; medians)"});
        for (const int threads : options_.threads) {
            bench::LimitMeter& meter = meters_.emplace_back(threads, memory_);
            meter.sample_memory();
            meter.sample_arithmetic();
            const bench::Limits l = meter.all();
            row({bench::plot::counted(threads, "thread"), fixed(l.stream_gb_per_s, 1), fixed(l.fma_gflop_per_s, 0),
                 l.bf16_gflop_per_s ? fixed(*l.bf16_gflop_per_s, 0) : "-"});
        }
    }

    void print_runs() {
        std::cout << '\n' << subject_->shape << ", " << l3::dtype_name<T> << ", "
                  << fixed(double(subject_->weights->nbytes()) / 1e6, 0) << " MB ("
                  << (options_.common.model.empty() ? "made" : "loaded") << " in " << fixed(subject_->load_ms, 0)
                  << " ms)\n";
        row({"phase", "threads", "tokens", "context", "tok/s", "spread %", "GB/s", "GFLOP/s", "% of limit"});
        bench::Plan plan = options_.plan;
        for (bench::LimitMeter& meter : meters_)
            for (const l3::Index context : options_.contexts) {
                plan.context = context;
                if (plan.prompt > 0) print(runs_.emplace_back(bench::measure(*subject_, meter, "prefill", plan)));
                if (plan.decode > 0) print(runs_.emplace_back(bench::measure(*subject_, meter, "decode", plan)));
            }
        if (plan.decode > 0) print_parts();
    }
    static void print(const bench::Run& r) {
        row({std::string(r.phase), std::to_string(r.threads), std::to_string(r.tokens), std::to_string(r.context),
             fixed(r.tok_per_s, 1), fixed(r.spread_percent, 1), fixed(r.gb_per_s, 1), fixed(r.gflop_per_s, 1),
             fixed(r.percent_of_limit, 1)});
    }
    void print_parts() const {
        std::cout << "\ndecode, milliseconds of a token:\n";
        row({"threads", "context", "norm_qkv", "attention", "o_proj", "gate_up", "down_proj", "logits", "rest"});
        for (const bench::Run& r : runs_) {
            if (!r.parts) continue;
            std::vector<std::string> cells = {std::to_string(r.threads), std::to_string(r.context)};
            for (const double ms : *r.parts) cells.push_back(fixed(ms, 3));
            row(cells);
        }
    }

    /// With the most threads, and a chat as long as the longest context that was asked for.
    bench::Edit print_edit() const {
        const l3::Index longest = *std::max_element(options_.contexts.begin(), options_.contexts.end());
        const l3::Index most = subject_->config->max_position_embeddings;
        const l3::Index tokens = longest > 0 ? longest : std::min<l3::Index>(4096, most);
        const bench::Edit e = bench::measure_edit(*subject_, options_.threads.back(), tokens, options_.plan.repeats);
        std::cout << "\nedit in the middle of a chat, " << bench::plot::counted(e.threads, "thread") << ":\n";
        row({"", "kept", "evaluated", "ms"});
        row({"cold", "0", std::to_string(e.tokens), fixed(e.cold_ms, 1)});
        row({"edited", std::to_string(e.kept), std::to_string(e.evaluated), fixed(e.edit_ms, 1),
             "  (" + fixed(e.ratio(), 2) + " times as fast)"});
        return e;
    }

    std::vector<bench::Price> print_exactness() const {
        constexpr const char* shape = "llama-3.2-1b";
        const bench::Exactness<T> exactness(subject_ ? *subject_->config : bench::named_config(shape));
        std::cout << "\nproducts in the canonical order of sums beside a free one (weights of it packed beforehand for "
                     "several tokens), "
                  << (subject_ ? subject_->shape : shape) << ", " << l3::dtype_name<T> << ":\n";
        row({"matrix", "rows", "cols", "tokens", "threads", "l3 ms", "free ms", "ratio"});
        std::vector<bench::Price> prices;
        for (const int threads : options_.threads) {
            l3::Context<l3::CPU> ctx(threads);
            for (const l3::Index tokens : {1, 512})
                for (const bench::LayerMatrix& m : exactness.matrices()) {
                    const bench::Price& p = prices.emplace_back(exactness.price(ctx, m, tokens, options_.plan.repeats));
                    row({m.name, std::to_string(m.rows), std::to_string(m.cols), std::to_string(tokens),
                         std::to_string(threads), fixed(p.l3_ms, 3), fixed(p.free_ms, 3), fixed(p.ratio(), 2)});
                }
        }
        return prices;
    }

    const Options& options_;
    std::optional<bench::Subject<T>> subject_;  // what is wrong with it is said before anything is measured
    l3::Buffer<l3::f32, l3::CPU> memory_ = bench::streaming_memory();
    std::deque<bench::LimitMeter> meters_;
    std::vector<bench::Limits> limits_;
    std::vector<bench::Run> runs_;
};

template <l3::DType T>
void run(const Options& options) {
    options.common.require_device();
    for (const auto& file : {options.json, options.plot, options.plot_parts})
        if (!file.empty()) programs::check_output(file, options.common.inputs());
    Bench<T> bench(options);
    Json report = {{"machine", {{"cpu", processor()}, {"threads", l3::cpu::default_threads()},
                                {"isa", l3::arch::native::name}, {"compiler", compiler()}, {"date", today()}}},
                   {"limits", Json::array()}, {"runs", Json::array()}};
    std::cout << processor() << ", " << l3::arch::native::name << ", " << compiler() << "\n\n";
    bench.run(report);
    bench.draw();
    if (!options.json.empty()) programs::write_text(options.json, report.dump(4, ' ', false, Json::error_handler_t::replace) + "\n");
}

/// Sorted, each once.
template <class N>
void tidy(std::vector<N>& values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

void check(const Options& options) {
    const auto needs = [](bool given, bool there, const char* text) {
        if (given && !there) throw programs::UsageError(text);
    };
    const bool subject = options.has_subject();
    needs(options.edit, subject, "--edit needs a model: -m, --shape or --config");
    needs(!options.plot.empty(), subject, "--plot needs a model: -m, --shape or --config");
    needs(!options.plot_parts.empty(), subject && options.plan.decode > 0,
          "--plot-parts needs a model that decodes: -m, --shape or --config, and --decode above 0");
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Measures the limits of this machine (reading memory, fused multiply-adds, products of bf16), then "
                 "prompt and decode of a model, as a percentage of them: medians after a warm-up, loading apart, and "
                 "the limits again just before and after.", "l3-bench");
    Options options;
    std::vector<std::string> shapes;
    for (const auto& shape : bench::named_shapes) shapes.emplace_back(shape.name);
    CLI::Option* const model = options.common.add_model(app);
    CLI::Option* const shape =
        app.add_option("--shape", options.shape,
                       "Random weights in this shape: smollm2-135m, llama-3.2-1b, llama-3.1-8b")
            ->check(CLI::IsMember(shapes))->excludes(model)->option_text("NAME");
    app.add_option("--config", options.config, "Random weights in the shape of this config.json of Hugging Face")
        ->excludes(model)->excludes(shape)->option_text("FILE");
    options.common.add_dtype(app);
    options.common.add_device(app);
    app.add_option("-t,--threads", options.threads,
                   "Threads; may be given several times (default: 1, and the physical cores)")
        ->allow_extra_args(false)->transform(programs::whole_number(1, 1024))->option_text("N");
    const auto add_count = [&app](const char* name, l3::Index& value, const char* description) {
        app.add_option(name, value, description)->transform(programs::whole_number(0))->option_text("N");
    };
    add_count("-p,--prompt", options.plan.prompt, "Tokens of the prompt; 0: none (default: 512)");
    add_count("-n,--decode", options.plan.decode, "Tokens decoded; 0: none (default: 64)");
    app.add_option("-c,--context", options.contexts,
                   "Tokens in the cache before either begins; may be given several times (default: 0)")
        ->allow_extra_args(false)->transform(programs::whole_number(0))->option_text("N");
    app.add_option("--repeats", options.plan.repeats, "Runs of each after the one to warm up (default: 5)")
        ->transform(programs::whole_number(1))->option_text("N");
    app.add_flag("--edit", options.edit, "A chat whose second half changes, beside a cold start; as long as the "
                 "longest --context (default: 4096 tokens, or the model's maximum)");
    app.add_flag("--exactness", options.exactness, "The matrix products of a layer, for 1 and for 512 tokens, beside "
                 "the same in a free order of sums (default shape: llama-3.2-1b)");
    app.add_option("--json", options.json, "Writes all numbers as JSON")->option_text("FILE");
    app.add_option("--plot", options.plot, "Draws the runs below the roofline")->option_text("FILE.svg");
    app.add_option("--plot-parts", options.plot_parts, "Draws where the time of a decoded token goes")
        ->option_text("FILE.svg");
    return programs::run(app, argc, argv, [&] {
        check(options);
        if (options.threads.empty()) options.threads = {1, l3::cpu::default_threads()};
        if (options.contexts.empty()) options.contexts = {0};
        tidy(options.threads);
        tidy(options.contexts);
        if (options.common.dtype == "bf16") run<l3::bf16>(options);
        else run<l3::f32>(options);
    });
}
