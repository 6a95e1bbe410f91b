#include <doctest/doctest.h>
#include <l3/model/model.hpp>
#include <l3/ops/cpu/ops.hpp>
#include "support/evaluate.hpp"
#include <thread>

using namespace l3;
using doctest::Contains;
using support::different_bits;
using support::FileTensor;
using support::TemporaryFolder;
using support::TinyModel;

namespace {

/// A directory of a model whose tensors and config were changed.
void write_changed(const std::filesystem::path& folder, const TinyModel& model, auto change_tensors,
                   const nlohmann::json& config = nlohmann::json::object()) {
    std::filesystem::create_directories(folder);
    nlohmann::json json = nlohmann::json::parse(model.config_json());
    json.update(config);
    std::vector<FileTensor> tensors = model.stored_tensors();
    change_tensors(tensors);
    support::write_file(folder / "config.json", json.dump());
    support::write_safetensors(folder / "model.safetensors", tensors);
}

void keep(std::vector<FileTensor>&) {}
void drop_head(std::vector<FileTensor>& t) {
    std::erase_if(t, [](const FileTensor& x) { return x.name == "lm_head.weight"; });
}

template <class T>
std::vector<f32> logits(const std::filesystem::path& path, std::span<const Token> ids) {
    return support::cold(Model<T, CPU>(path, support::with_threads(2)), ids);
}

template <class M>
std::vector<Token> greedy(const M& model, std::vector<Token> ids, int count) {
    auto sequence = model.new_sequence(Index(ids.size()) + count);
    std::vector<Token> generated;
    while (int(generated.size()) < count) {
        const int last[] = {int(ids.size()) - 1};
        sequence.evaluate(ids, last);
        const auto row = sequence.logits(0);
        ids = {Token(std::max_element(row.begin(), row.end()) - row.begin())};
        generated.push_back(ids[0]);
    }
    return generated;
}

}  // namespace

TEST_CASE_TEMPLATE("acceptance A01: single file, index with shards, index with one entry: the same bits", T, bf16,
                   f32) {
    const TemporaryFolder folder;
    const TinyModel model = support::t0();
    for (int shards : {0, 1, 2}) {
        const auto path = folder / std::to_string(shards);
        std::filesystem::create_directories(path);
        support::write_file(path / "config.json", model.config_json());
        if (shards == 0) support::write_safetensors(path / "model.safetensors", model.stored_tensors());
        else support::write_sharded_safetensors(path, model.stored_tensors(), shards);
    }
    const auto ids = support::random_ids(20, 256);
    const std::vector<f32> single = logits<T>(folder / "0", ids);
    CHECK(different_bits(logits<T>(folder / "1", ids), single) == 0);
    CHECK(different_bits(logits<T>(folder / "2", ids), single) == 0);
    const std::vector<Token> expected = greedy(Model<T, CPU>(folder / "0"), ids, 16);
    CHECK(greedy(Model<T, CPU>(folder / "2"), ids, 16) == expected);

    std::filesystem::create_directory(folder / "empty");
    CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "empty")), Contains("config.json"), IoError);
    CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "empty")), Contains("model.safetensors"), IoError);
    CHECK_THROWS_WITH_AS((Model<T, CPU>("no/such/model.gguf")), "no/such/model.gguf: no such file or directory",
                         IoError);
}

TEST_CASE_TEMPLATE("acceptance A09: tied embeddings: the logits of all five cases", T, bf16, f32) {
    const TemporaryFolder folder;
    const TinyModel model = support::t0();
    write_changed(folder / "tied", model, drop_head, {{"tie_word_embeddings", true}});
    write_changed(folder / "tied-with-head", model, keep, {{"tie_word_embeddings", true}});
    write_changed(folder / "silent", model, drop_head, {{"tie_word_embeddings", nullptr}});
    write_changed(folder / "untied-without-head", model, drop_head);
    write_changed(folder / "untied", model, keep);
    const auto ids = support::random_ids(20, 256);
    const std::vector<f32> tied = logits<T>(folder / "tied", ids);
    CHECK(different_bits(logits<T>(folder / "tied-with-head", ids), tied) == 0);
    CHECK(different_bits(logits<T>(folder / "silent", ids), tied) == 0);
    CHECK(different_bits(logits<T>(folder / "untied", ids), tied) > 0);
    CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "untied-without-head")), Contains("lm_head.weight"), FormatError);
    CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "untied-without-head")), Contains("tie_word_embeddings"), FormatError);
    const Model<T, CPU> shared(folder / "tied"), own(folder / "untied");
    CHECK(own.weights_bytes() - shared.weights_bytes() == 256 * 64 * sizeof(T));
}

TEST_CASE("acceptance A10: llama3 scaling reaches the logits, from config.json and from GGUF") {
    TinyModel scaled = support::t0(), plain = support::t0();
    for (TinyModel* m : {&scaled, &plain}) m->config.rope_theta = 500000, m->config.head_dim = 32;
    scaled.config.rope_type = "llama3";
    scaled.config.rope_factor = 8;
    scaled.config.original_max_position_embeddings = 64;
    const TemporaryFolder folder;
    scaled.write_directory(folder / "scaled");
    scaled.write_gguf(folder / "scaled.gguf");
    plain.write_directory(folder / "plain");
    const auto ids = support::random_ids(200, 256, 10);
    const reference::Matrix expected = scaled.logits(ids);
    const auto error = [&](const std::filesystem::path& path) {
        return support::relative_error(support::as_matrix(logits<f32>(path, ids), 200), expected);
    };
    CHECK(error(folder / "scaled") <= support::logits_tolerance<f32>);
    CHECK(error(folder / "scaled.gguf") <= support::logits_tolerance<f32>);
    CHECK(error(folder / "plain") > 1e-3);  // leaving it out is seen
}

TEST_CASE("acceptance A13: T1, whose head_dim is not hidden / heads") {
    const TemporaryFolder folder;
    const TinyModel model = support::t1();
    model.write_directory(folder / "t1");
    model.write_gguf(folder / "t1.gguf");
    const auto ids = support::random_ids(30, 256);
    const reference::Matrix expected = model.logits(ids);
    for (const char* name : {"t1", "t1.gguf"})
        CHECK(support::relative_error(support::as_matrix(logits<f32>(folder / name, ids), 30), expected) < 1e-5);
    write_changed(folder / "without", model, keep, {{"head_dim", nullptr}});
    CHECK_THROWS_WITH_AS((Model<f32, CPU>(folder / "without")), Contains("head_dim"), FormatError);
}

TEST_CASE_TEMPLATE("acceptance A15: rows of q and k in either rotary order, over 40 tokens", T, bf16, f32) {
    const TemporaryFolder folder;
    const TinyModel model = support::t0();
    model.write_directory(folder / "hf");
    model.write_gguf(folder / "model.gguf");
    model.write_llama2c(folder / "model.bin");
    const auto ids = support::random_ids(40, 256, 15);
    const std::vector<f32> hf = logits<T>(folder / "hf", ids);
    CHECK(different_bits(logits<T>(folder / "model.gguf", ids), hf) == 0);
    CHECK(different_bits(logits<T>(folder / "model.bin", ids), hf) == 0);
}

TEST_CASE_TEMPLATE("acceptance A16: llama2.c checkpoints, shared and unshared, and headers that are refused", T, bf16,
                   f32) {
    const TemporaryFolder folder;
    const auto ids = support::random_ids(40, 256, 16);
    for (bool tied : {true, false}) {
        TinyModel model = support::t0();
        model.config.tie_word_embeddings = tied;
        model.write_directory(folder / "hf");
        model.write_llama2c(folder / "model.bin");
        CHECK(different_bits(logits<T>(folder / "model.bin", ids), logits<T>(folder / "hf", ids)) == 0);
    }
    const std::string good = support::read_file(folder / "model.bin");
    for (std::int32_t dim : {0, -5}) {
        std::string bad = good;
        std::memcpy(bad.data(), &dim, sizeof dim);
        support::write_file(folder / "bad.bin", bad);
        CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "bad.bin")), Contains("bad.bin"), FormatError);
    }
    for (std::uint32_t version : {1u, 2u}) {
        std::string v = good;
        const std::uint32_t header[] = {0x616B3432, version};
        std::memcpy(v.data(), header, sizeof header);
        support::write_file(folder / "v.bin", v);
        CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "v.bin")), Contains("ak42"), UnsupportedError);
    }
    support::write_file(folder / "cut.bin", good.substr(0, good.size() - 1));
    CHECK_THROWS_WITH_AS((Model<T, CPU>(folder / "cut.bin")), Contains("lm_head.weight"), FormatError);
}

TEST_CASE_TEMPLATE("acceptance A17: F32 norms and BF16 matrices, whatever dtype the config claims", T, bf16, f32) {
    const TemporaryFolder folder;
    const TinyModel model = support::t0("BF16");
    const auto f32_norms = [](std::vector<FileTensor>& all) {
        for (FileTensor& t : all)
            if (t.shape.size() == 1) t = support::f32_tensor(t.name, t.shape, support::decode(t.type, t.data));
    };
    for (const char* dtype : {"float16", "bfloat16"})
        write_changed(folder / dtype, model, f32_norms, {{"dtype", dtype}});
    const auto ids = support::random_ids(20, 256);
    const std::vector<f32> a = logits<T>(folder / "float16", ids);
    CHECK(different_bits(logits<T>(folder / "bfloat16", ids), a) == 0);
    CHECK(support::relative_error(support::as_matrix(a, 20), model.logits(ids)) <= support::logits_tolerance<T>);
}

TEST_CASE("Model: what it says of itself") {
    const TemporaryFolder folder;
    const TinyModel model = support::t0("BF16");
    model.write_directory(folder / "hf");
    support::write_file(folder / "hf/generation_config.json", R"({"eos_token_id": [9, 2, 7], "temperature": 0.5})");
    const Model<bf16, CPU> m(folder / "hf", support::with_threads(3));
    CHECK(m.config().hidden_size == 64);
    CHECK(m.dtype() == "bf16");
    CHECK(m.device() == "cpu");
    CHECK(m.threads() == 3);
    CHECK(m.load_ms() > 0);
    CHECK(m.path() == folder / "hf");
    CHECK(m.format() == CheckpointFormat::hugging_face);
    CHECK(m.generation_config().temperature == 0.5f);
    CHECK(std::ranges::equal(m.end_ids(), std::vector<Token>{2, 7, 9}));
    CHECK(m.cache_bytes(16) == 2 * (2 * 2 * 16 * 16 + 32) * sizeof(bf16));
    CHECK_FALSE(m.has_tokenizer());
    CHECK_THROWS_WITH_AS((void)m.tokenizer(), Contains("tokenizer.json"), IoError);
    CHECK_THROWS_WITH_AS((void)m.tokenizer(), Contains((folder / "hf").string().c_str()), IoError);
    const Model<bf16, CPU> copy = m;
    CHECK(&copy.weights() == &m.weights());
    CHECK_THROWS_AS((Model<bf16, CPU>(folder / "hf", support::with_threads(0))), ArgumentError);
}

TEST_CASE_TEMPLATE("acceptance A19: mapped or read, and with progress: the same logits", T, bf16, f32) {
    const TemporaryFolder folder;
    support::t0("BF16").write_directory(folder / "hf");
    const auto ids = support::random_ids(20, 256);
    const std::vector<f32> mapped = logits<T>(folder / "hf", ids);
    ModelOptions options;
    options.access = io::FileAccess::read;
    std::vector<double> seen;
    options.progress = [&seen](double x) { return seen.push_back(x), true; };
    CHECK(different_bits(support::cold(Model<T, CPU>(folder / "hf", options), ids), mapped) == 0);
    CHECK(seen.front() == 0);
    CHECK(seen.back() == 1);
    CHECK(std::is_sorted(seen.begin(), seen.end()));
    options.progress = [](double) { return false; };
    CHECK_THROWS_AS((Model<T, CPU>(folder / "hf", options)), CancelledError);
}

TEST_CASE_TEMPLATE("acceptance I06: sequences of one model in several threads", T, bf16, f32) {
    const TemporaryFolder folder;
    support::t0("BF16").write_directory(folder / "hf");
    const Model<T, CPU> model(folder / "hf", support::with_threads(2));
    std::vector<std::vector<f32>> expected, found(8);
    for (std::size_t i = 0; i < found.size(); ++i)
        expected.push_back(support::cold(model, support::random_ids(50, 256, i), {7}));
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < found.size(); ++i)
        threads.emplace_back([&, i] { found[i] = support::cold(model, support::random_ids(50, 256, i), {7}); });
    threads.clear();
    for (std::size_t i = 0; i < found.size(); ++i) CHECK(different_bits(found[i], expected[i]) == 0);
}
