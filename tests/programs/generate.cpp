#include <doctest/doctest.h>
#include "chat_model.hpp"

using support::run;

namespace {

/// Runs l3-generate on a model, greedily unless the options say otherwise.
support::Outcome generate(const support::ChatModel& model, std::vector<std::string> options, const std::string& input = "") {
    options.insert(options.begin(), {"-m", model.path(), "--ignore-eos", "-n", "24"});
    return run("l3-generate", options, input);
}

}  // namespace

TEST_CASE("l3-generate: the prompt from an option, a file, standard input, or as ids") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string text = "Once upon a time";
    const auto plain = generate(model, {"-p", text});
    CHECK(plain.status == 0);
    CHECK(plain.err == "");  // acceptance I02
    CHECK(!plain.out.empty());

    support::write_file(folder / "prompt", text);
    CHECK(generate(model, {"-f", (folder / "prompt").string()}).out == plain.out);
    CHECK(generate(model, {}, text).out == plain.out);
    std::vector<support::Token> ids{model.id_of("<|begin|>")};
    for (char c : text) ids.push_back(static_cast<unsigned char>(c));
    CHECK(generate(model, {"--ids", support::words(ids)}).out == plain.out);
    CHECK(generate(model, {"-p", text, "--echo"}).out == text + plain.out);
    CHECK(generate(model, {"-p", text, "--temperature", "1", "--top-k", "1"}).out == plain.out);
}

TEST_CASE("l3-generate: ids and statistics") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string file = (folder / "stats").string();
    const auto r = generate(model, {"-p", "abc", "--print-ids", "--stats", file, "-v"});
    CHECK(r.status == 0);
    CHECK(r.out.ends_with("\n"));
    std::istringstream in(r.out);
    std::vector<support::Token> ids;
    for (support::Token id; in >> id;) ids.push_back(id);
    CHECK(ids.size() == 24);
    CHECK(r.err.find("prompt 3 tokens (0 reused, 3 evaluated)") != std::string::npos);
    CHECK(r.err.find(" thread") != std::string::npos);  // acceptance G01: how many, for those who ask

    const auto s = nlohmann::json::parse(support::read_file(file));
    CHECK(support::good_statistics(s));
    CHECK(s["prompt_tokens"] == 3);  // the start token, "ab", "c"
    CHECK(s["reused_tokens"] == 0);
    CHECK(s["generated_tokens"] == 24);
    CHECK(s["finish_reason"] == "length");

    const std::string prompt = support::words({model.id_of("<|begin|>"), 256, 99});
    CHECK(generate(model, {"-p", "abc", "--print-ids", "--echo"}).out == prompt + " " + r.out);
    CHECK(generate(model, {"--ids", prompt, "--print-ids", "-n", "1"}).status == 2);  // -n twice
}

TEST_CASE("l3-generate: statistics never take the place of what is read, nor of a file without being there") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string prompt = (folder / "prompt").string(), stats = (folder / "stats").string();
    support::write_file(prompt, "A");
    const auto refuses = [](const std::filesystem::path& file, const support::Outcome& r) {
        CHECK(r.status == 1);
        CHECK(r.out == "");
        CHECK_MESSAGE(r.err.starts_with("l3-generate: error: " + file.string() + ": cannot write: it is "), r.err);
    };
    for (const char* name : {"model.safetensors", "config.json", "tokenizer.json", "tokenizer_config.json"})
        refuses(model.file(name), generate(model, {"-p", "A", "--stats", model.file(name).string()}));
    refuses(prompt, generate(model, {"-f", prompt, "--stats", prompt}));
    refuses(prompt, support::run_shell(support::in_shell("l3-generate") + " -m '" + model.path() + "' --stats '" + prompt +
                                       "' < '" + prompt + "'"));
    const support::TemporaryFolder other;
    std::filesystem::copy(model.file("tokenizer.json"), other / "tokenizer.json");
    refuses(other / "tokenizer.json", generate(model, {"-p", "A", "--tokenizer", other.path().string(), "--stats",
                                                       (other / "tokenizer.json").string()}));

    support::write_file(stats, "precious");
    CHECK(generate(model, {"--ids", "300", "--stats", stats}).status == 1);
    CHECK(support::read_file(stats) == "precious");
    CHECK(generate(model, {"-p", "A", "--stats", stats}).status == 0);
    CHECK(support::good_statistics(nlohmann::json::parse(support::read_file(stats))));
    CHECK(support::names_in(folder.path()) == std::vector<std::string>{"prompt", "stats"});
    const auto nowhere = run("l3-generate", {"-m", "no/such/model", "-p", "A", "--stats", (folder / "no/stats").string()});
    CHECK(nowhere.status == 1);
    CHECK(nowhere.err.find("no/stats: cannot write: its folder ") != std::string::npos);
    const auto shown = run("l3-generate", {"-m", model.path(), "-f", prompt, "-n", "0", "--stats", "/dev/stdout"});
    CHECK(support::good_statistics(nlohmann::json::parse(shown.out)));
}

TEST_CASE("l3-generate: a seed gives the same text again, on any number of threads") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string file = (folder / "stats").string();
    const auto ids = [&](std::vector<std::string> options) {
        options.insert(options.end(), {"-p", "A", "--print-ids", "--temperature", "1", "--stats", file});
        return generate(model, options).out;
    };
    const std::string seven = ids({"--seed", "7", "-t", "1"});
    CHECK(ids({"--seed", "7", "-t", "3"}) == seven);
    CHECK(ids({"--seed", "8"}) != seven);
    CHECK(ids({"--seed", "007"}) == seven);
    CHECK(ids({"--seed", "010"}) == ids({"--seed", "10"}));
    CHECK(ids({"--seed", "08"}) == ids({"--seed", "8"}));
    const std::string free = ids({});
    const auto seed = nlohmann::json::parse(support::read_file(file))["seed"].get<std::uint64_t>();
    CHECK(ids({"--seed", std::to_string(seed)}) == free);
}

TEST_CASE("l3-generate: where a text ends") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string file = (folder / "stats").string();
    const std::string text = generate(model, {"-p", "A"}).out;
    const std::string stop = text.substr(text.size() / 2, 2);
    const auto stopped = generate(model, {"-p", "A", "--stop", "never said", "--stop", stop, "--stats", file});
    CHECK(stopped.out == text.substr(0, text.find(stop)));
    CHECK(nlohmann::json::parse(support::read_file(file))["finish_reason"] == "stop");

    const auto full = generate(model, {"-p", "A", "-c", "10", "--stats", file});
    const auto s = nlohmann::json::parse(support::read_file(file));
    CHECK(s["finish_reason"] == "length");
    CHECK(s["prompt_tokens"].get<int>() + s["generated_tokens"].get<int>() == 10);
    CHECK(generate(model, {"-p", "A", "-c", "1"}).err == "l3-generate: error: a prompt of 2 tokens does not fit the context of 1\n");

    // Of the end ids of generation_config.json, the first that comes.
    std::istringstream in(generate(model, {"-p", "A", "--print-ids"}).out);
    std::vector<support::Token> ids;
    for (support::Token id; in >> id;) ids.push_back(id);
    support::write_file(model.file("generation_config.json"), "{\"eos_token_id\": [" + std::to_string(ids[5]) + ", 299]}");
    const auto first = std::find(ids.begin(), ids.end(), ids[5]) - ids.begin() + 1;
    CHECK(run("l3-generate", {"-m", model.path(), "-p", "A", "-n", "24", "--print-ids"}).out ==
          support::words({ids.begin(), ids.begin() + first}) + "\n");
}

TEST_CASE("l3-generate: sampling options come from generation_config.json unless given") {
    const support::ChatModel model;
    const auto ids = [&](std::vector<std::string> options) {
        options.insert(options.end(), {"-p", "A", "--print-ids", "--seed", "3"});
        return generate(model, options).out;
    };
    const std::string greedy = ids({}), hot = ids({"--temperature", "3"});
    support::write_file(model.file("generation_config.json"), "{\"do_sample\": true, \"temperature\": 3.0}");
    CHECK(ids({}) == hot);
    CHECK(ids({"--temperature", "0"}) == greedy);
    CHECK(ids({"--min-p", "1"}) == greedy);
    CHECK(ids({"--top-p", "0"}) == greedy);
    CHECK(ids({"--temperature", "0", "--repetition-penalty", "5"}) != greedy);
}

TEST_CASE("l3-generate: the demo model by greedy choice, the same from either build and any threads") {
    // Only that a real tokenizer inside a GGUF file leads to text; the checks of other implementations go deeper.
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    const char* const home = std::getenv("HOME");
    const std::filesystem::path folder = cache ? std::filesystem::path(cache) : std::filesystem::path(home ? home : "/") / ".cache";
    const auto file = folder / "l3" / "SmolLM2-135M-Instruct.Q4_1.gguf";
    if (!std::filesystem::exists(file)) {
        MESSAGE("not run: there is no ", file.string(), "; scripts/get-model gets it");
        return;
    }
    const auto r = run("l3-generate", {"-m", file.string(), "-p", "The capital of France is", "-n", "3", "--temperature", "0"});
    CHECK(r.status == 0);
    CHECK(r.out.starts_with(" Paris"));
    CHECK(r.err == "");

    // No more memory than l3-info says, and 64 MB for the tokenizer and what else a program has.
    const auto memory = nlohmann::json::parse(run("l3-info", {"-m", file.string(), "--json"}).out)["memory"];
    std::uint64_t said = std::uint64_t{64} << 20;
    for (const char* part : {"weights_bytes", "cache_bytes", "activation_bytes"}) said += memory[part].get<std::uint64_t>();
    CHECK(r.peak_bytes <= said);
}
