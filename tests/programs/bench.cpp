#include <doctest/doctest.h>
#include "chat_model.hpp"

TEST_CASE("l3-bench: limits, then prompt and decode, as text and as JSON") {
    if (!std::filesystem::exists(support::program("l3-bench"))) {
        MESSAGE("not run: this build has no l3-bench (L3_BUILD_BENCH)");
        return;
    }
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string file = (folder / "bench.json").string();
    const auto r = support::run("l3-bench", {"-m", model.path(), "-t", "2", "-p", "600", "-n", "3", "-c", "5", "--repeats", "2", "--json", file});
    CHECK(r.status == 0);
    CHECK(r.err == "");
    CHECK(r.out.find("% of limit") != std::string::npos);

    const auto report = nlohmann::json::parse(support::read_file(file));
    CHECK(report["machine"].contains("cpu"));
    REQUIRE(report["limits"].size() == 1);
    const auto& limits = report["limits"][0];
    CHECK(limits["threads"] == 2);
    CHECK(limits["stream_gb_per_s"].get<double>() > 0);
    CHECK(limits["fma_gflop_per_s"].get<double>() > 0);
    CHECK(limits.contains("bf16_gflop_per_s"));
    REQUIRE(report["runs"].size() == 2);
    for (const auto& run : report["runs"]) {
        CHECK(run["dtype"] == "bf16");
        CHECK(run["threads"] == 2);
        CHECK(run["context"] == 5);
        for (const char* key : {"shape", "isa", "tok_per_s", "gb_per_s", "gflop_per_s", "percent_of_limit", "spread_percent"})
            CHECK(run.contains(key));
        const bool decode = run["phase"] == "decode";
        CHECK(run["tokens"] == (decode ? 3 : 600));
        // What is printed fits together.
        const double peak = limits["bf16_gflop_per_s"].is_null() ? limits["fma_gflop_per_s"].get<double>() : limits["bf16_gflop_per_s"].get<double>();
        const double share = decode ? run["gb_per_s"].get<double>() / limits["stream_gb_per_s"].get<double>() : run["gflop_per_s"].get<double>() / peak;
        CHECK(run["percent_of_limit"].get<double>() == doctest::Approx(100 * share));
    }
    // A decoded token reads every matrix once, and the cache: 2 bytes each; f32 norms.
    const auto& decode = report["runs"][1];
    const double V = model.vocab_size();
    const double matrices = 2 * (64 * 64 * 2 + 2 * 32 * 64 + 3 * 128 * 64) + V * 64;
    const double bytes = 2 * matrices + 4 * 5 * 64 + 2 * 2 * 32 * 2 * 7;  // 6, 7 and 8 positions
    CHECK(decode["gb_per_s"].get<double>() * 1e9 / decode["tok_per_s"].get<double>() == doctest::Approx(bytes));
}
