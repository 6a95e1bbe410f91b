#include <doctest/doctest.h>
#include "chat_model.hpp"

namespace {

/// True, and says so, if this build has no l3-bench.
bool no_bench() {
    const bool missing = !std::filesystem::exists(support::program("l3-bench"));
    if (missing) MESSAGE("not run: this build has no l3-bench (L3_BUILD_BENCH)");
    return missing;
}

/// A config of a model with sizes that fill no register, and with biases.
nlohmann::json odd_config() {
    return {{"model_type", "llama"}, {"hidden_size", 72}, {"intermediate_size", 200}, {"num_hidden_layers", 2},
            {"num_attention_heads", 4}, {"num_key_value_heads", 2}, {"head_dim", 18}, {"vocab_size", 300},
            {"max_position_embeddings", 96}, {"attention_bias", true}, {"mlp_bias", true}};
}

/// A file of such a name in a folder of its own, whose name the drawings have to escape.
std::string write_config(const support::TemporaryFolder& folder, const nlohmann::json& config) {
    const std::filesystem::path path = folder / "odd & <small>" / "config.json";
    std::filesystem::create_directory(path.parent_path());
    support::write_file(path, config.dump());
    return path.string();
}

std::size_t count(const std::string& text, const std::string& part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + part.size())) ++n;
    return n;
}

/// Elements that open and close, text without stray characters of markup.
void check_svg(const std::string& svg) {
    CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
    CHECK(svg.ends_with("</svg>\n"));
    CHECK(count(svg, "<") == count(svg, ">"));
    CHECK(count(svg, "<text") == count(svg, "</text>"));
    CHECK(count(svg, "<") == 2 * count(svg, "</") + count(svg, "/>"));
    CHECK(count(svg, "&") == count(svg, "&amp;") + count(svg, "&lt;") + count(svg, "&gt;") + count(svg, "&quot;"));
    CHECK(svg.find("odd &amp; &lt;small&gt;, f32") != svg.npos);
    for (const char* number : {"\"nan", "\"-nan", "\"inf", "\"-inf"}) CHECK(svg.find(number) == svg.npos);
}

}  // namespace

TEST_CASE("acceptance K02: l3-bench states limits, then prompt and decode beside them, as text and as JSON") {
    if (no_bench()) return;
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string file = (folder / "bench.json").string();
    const auto r = support::run("l3-bench", {"-m", model.path(), "-t", "2", "-p", "600", "-n", "3", "-c", "5",
                                             "--repeats", "2", "--json", file});
    CHECK(r.status == 0);
    CHECK(r.err == "");
    CHECK(r.out.find("% of limit") != std::string::npos);
    CHECK(r.out.find("down_proj") != std::string::npos);

    const auto report = nlohmann::json::parse(support::read_file(file));
    CHECK(report["machine"].contains("cpu"));
    REQUIRE(report["limits"].size() == 1);
    const auto& limits = report["limits"][0];
    CHECK(limits["threads"] == 2);
    CHECK(limits["stream_gb_per_s"].get<double>() > 0);
    CHECK(limits["fma_gflop_per_s"].get<double>() > 0);
    CHECK(limits.contains("bf16_gflop_per_s"));
    CHECK(!report.contains("edit"));
    CHECK(!report.contains("exactness"));
    REQUIRE(report["runs"].size() == 2);
    for (const auto& run : report["runs"]) {
        CHECK(run["dtype"] == "bf16");
        CHECK(run["threads"] == 2);
        CHECK(run["context"] == 5);
        for (const char* key : {"shape", "isa", "tok_per_s", "gb_per_s", "gflop_per_s", "spread_percent", "load_ms"})
            CHECK(run.contains(key));
        const bool decode = run["phase"] == "decode";
        CHECK(run["tokens"] == (decode ? 3 : 600));
        // What is printed fits together.
        const double speed = run[decode ? "gb_per_s" : "gflop_per_s"].get<double>();
        CHECK(run["percent_of_limit"].get<double>() == doctest::Approx(100 * speed / run["limit"].get<double>()));
        CHECK(run.contains("parts") == decode);
    }
    // A decoded token reads every matrix once, and the cache: 2 bytes each; f32 norms.
    const auto& decode = report["runs"][1];
    const double V = model.vocab_size();
    const double matrices = 2 * (64 * 64 * 2 + 2 * 32 * 64 + 3 * 128 * 64) + V * 64;
    const double bytes = 2 * matrices + 4 * 5 * 64 + 2 * 2 * 32 * 2 * 7;  // 6, 7 and 8 positions
    CHECK(decode["gb_per_s"].get<double>() * 1e9 / decode["tok_per_s"].get<double>() == doctest::Approx(bytes));
    CHECK(decode["parts"].size() == 7);
    for (const char* part : {"norm_qkv", "attention", "linear_add (o_proj)", "norm_gate_up", "linear_add (down_proj)",
                             "norm_logits", "rest"})
        CHECK(decode["parts"][part].get<double>() > 0);
}

TEST_CASE("l3-bench: random weights in the shape of a config.json, at several contexts, drawn") {
    if (no_bench()) return;
    const support::TemporaryFolder folder;
    const std::string json = (folder / "bench.json").string(), roofline = (folder / "roofline.svg").string(),
                      parts = (folder / "parts.svg").string();
    const auto r = support::run("l3-bench", {"--config", write_config(folder, odd_config()), "--dtype", "f32", "-t",
                                             "1", "-p", "7", "-n", "4", "-c", "20", "-c", "0", "--repeats", "1",
                                             "--edit", "--json", json, "--plot", roofline, "--plot-parts", parts});
    CHECK(r.status == 0);
    CHECK(r.err == "");

    const auto report = nlohmann::json::parse(support::read_file(json));
    const auto& runs = report["runs"];
    REQUIRE(runs.size() == 4);  // contexts ascend, the prompt first
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(runs[i]["shape"] == "odd & <small>");
        CHECK(runs[i]["dtype"] == "f32");
        CHECK(runs[i]["phase"] == (i % 2 ? "decode" : "prefill"));
        CHECK(runs[i]["context"] == (i < 2 ? 0 : 20));
        CHECK(runs[i]["tok_per_s"].get<double>() > 0);
    }
    // Every layer: q and o [72, 72], k and v [36, 72], three of [200, 72]; logits of the last token only.
    const double layers = 2 * (2 * 72 * 72 + 2 * 36 * 72 + 3 * 200 * 72), pairs = 28;
    const double flops = 2 * (7 * layers + 300 * 72) + 4 * 72 * 2 * pairs;
    const auto& prompt = runs[0];
    CHECK(prompt["gflop_per_s"].get<double>() * 1e9 / prompt["tok_per_s"].get<double>() == doctest::Approx(flops / 7));

    const auto& edit = report["edit"];
    CHECK(edit["tokens"] == 20);
    CHECK(edit["kept"] == 10);
    CHECK(edit["evaluated"] == 10);
    const double cold = edit["cold_ms"].get<double>(), again = edit["edit_ms"].get<double>();
    CHECK(edit["ratio"].get<double>() == doctest::Approx(cold / again));

    const std::string svg = support::read_file(roofline);
    check_svg(svg);
    CHECK(count(svg, "<circle") == 2);
    CHECK(svg.find("decode, 4 tokens after 20, 1 thread, ") != svg.npos);
    CHECK(svg.find("prefill, 7 tokens, 1 thread, ") != svg.npos);
    const std::string bars = support::read_file(parts);
    check_svg(bars);
    CHECK(count(bars, "ms a token") == 2);
    CHECK(count(bars, "<rect") == 1 + 3 * 7);
}

TEST_CASE("l3-bench: the price of exactness, and an edit of a chat as long as the model allows") {
    if (no_bench()) return;
    const support::TemporaryFolder folder;
    const std::string json = (folder / "bench.json").string();
    const auto r = support::run("l3-bench", {"--config", write_config(folder, odd_config()), "-t", "2", "-p", "0", "-n",
                                             "0", "--repeats", "1", "--edit", "--exactness", "--json", json});
    CHECK(r.status == 0);  // the products in both orders are those of the same numbers
    CHECK(r.err == "");
    const auto report = nlohmann::json::parse(support::read_file(json));
    CHECK(report["runs"].empty());
    CHECK(report["edit"]["tokens"] == 96);
    CHECK(report["edit"]["evaluated"] == 48);
    REQUIRE(report["exactness"].size() == 10);  // five matrices, for 1 and for 512 tokens
    for (const auto& price : report["exactness"]) {
        for (const char* key : {"matrix", "rows", "cols", "dtype", "tokens", "threads"}) CHECK(price.contains(key));
        const double l3_ms = price["l3_ms"].get<double>(), free_ms = price["free_ms"].get<double>();
        CHECK(price["ratio"].get<double>() == doctest::Approx(l3_ms / free_ms));
    }
    CHECK(report["exactness"][3]["matrix"] == "gate_proj");
    CHECK(report["exactness"][3]["rows"] == 200);
    CHECK(report["exactness"][3]["tokens"] == 1);
    CHECK(report["exactness"][9]["tokens"] == 512);
}

TEST_CASE("l3-bench: a config that is none is an error, options that do not go together are wrong") {
    if (no_bench()) return;
    const support::TemporaryFolder folder;
    const auto run = [](std::vector<std::string> arguments) {
        const auto r = support::run("l3-bench", arguments);
        CHECK(count(r.err, "\n") == 1);
        CHECK(r.err.starts_with("l3-bench: error: "));
        return std::pair(r.status, r.err);
    };
    nlohmann::json config = odd_config();
    config.erase("hidden_size");
    const std::string file = write_config(folder, config);
    const auto [status, err] = run({"--config", file});
    CHECK(status == 1);
    CHECK(err.find(file) != err.npos);
    CHECK(err.find("hidden_size") != err.npos);
    config["hidden_size"] = "72";
    CHECK(run({"--config", write_config(folder, config)}).second.find("hidden_size") != err.npos);
    CHECK(run({"--config", (folder / "missing.json").string()}).first == 1);

    CHECK(run({"--config", file, "--shape", "llama-3.2-1b"}).first == 2);
    CHECK(run({"--config", file, "-m", "model"}).first == 2);
    CHECK(run({"--edit"}).first == 2);
    CHECK(run({"--plot", "x.svg"}).first == 2);
    CHECK(run({"--config", file, "-n", "0", "--plot-parts", "x.svg"}).first == 2);
}
