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
}
