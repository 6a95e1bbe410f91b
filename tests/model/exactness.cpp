// Promise 1: the same ids give the same logits, bit for bit, however they were evaluated.
#include <doctest/doctest.h>
#include <atomic>
#include <l3/device/cpu/simd_math.hpp>
#include <thread>
#include "support/contract_llama.hpp"
#include "support/evaluate.hpp"

using namespace l3;
using support::different_bits;
using support::TemporaryFolder;
using support::TinyModel;

namespace {

const std::vector<std::vector<int>> all_chunkings = {{1},  {2},      {3},        {7},           {16},
                                                     {33}, {37, 63}, {5, 1, 64}, {1, 1, 1, 90}, {1 << 20}};
const std::vector<std::vector<int>> few_chunkings = {{1}, {7}, {33}, {1 << 20}};

/// The greedy continuation.
template <class S> std::vector<Token> greedy(S& sequence, std::span<const f32> logits, int count) {
    std::vector<Token> ids;
    const int first_row[] = {0};
    while (int(ids.size()) < count) {
        ids.push_back(Token(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        sequence.evaluate(std::span<const Token>(&ids.back(), 1), first_row);
        logits = sequence.logits(0);
    }
    return ids;
}

/// Models whose sizes exercise different paths: whole and broken SIMD widths, rows over 1024, one and many kv heads.
std::vector<TinyModel> models() {
    const auto wanted = support::sanitized ? std::vector<std::string>{"t1", "odd-sizes", "biases"}
                                           : std::vector<std::string>{"t0-bf16",    "t1",        "mqa",    "odd-sizes",
                                                                      "wide-heads", "long-rows", "biases", "smallest"};
    std::vector<TinyModel> list;
    for (const TinyModel& model : support::tiny_models())
        if (std::ranges::find(wanted, model.name) != wanted.end()) list.push_back(model);
    return list;
}

/// Calls f(path, vocab_size) for each of them.
template <class F> void for_each_model(const F& f) {
    for (const TinyModel& tiny : models()) {
        CAPTURE(tiny.name);
        const TemporaryFolder folder;
        tiny.write_directory(folder / "hf");
        f(folder / "hf", tiny.config.vocab_size);
    }
}

}  // namespace

TEST_CASE_TEMPLATE("exactness: the whole model has the bits of the contract, computed one by one in scalar arithmetic",
                   T, f32, bf16) {
    const auto exp = [](f32 x) { return simd::exp(x); };
    for (const TinyModel& tiny : support::tiny_models()) {
        CAPTURE(tiny.name);
        const Index n = tiny.name == "mqa" ? 270 : 20;  // one of them past a block of attention
        const auto ids = support::random_ids(n, tiny.config.vocab_size);
        const TemporaryFolder folder;
        tiny.write_directory(folder / "hf");
        const auto model = support::open<T>(folder / "hf", 2);

        Context<CPU> ctx(1);
        support::TestTensor<f32> cos({n, tiny.config.head_dim / 2}), sin({n, tiny.config.head_dim / 2});
        ops::rope_table<CPU>(ctx, cos, sin, model.weights().inv_freq, Positions{0, n});
        const std::vector<f32> expected =
            reference::contract_llama<T>(tiny.config, tiny.weights(), ids, cos.data(), sin.data(), exp);
        CHECK(different_bits(support::cold(model, ids), expected) == 0);
    }
}

TEST_CASE_TEMPLATE("exactness: any number of threads, any chunks, prefill or decode", T, f32, bf16) {
    for_each_model([](const std::filesystem::path& path, Index V) {
        // Past the border of a block of attention.
        const auto ids = support::random_ids(support::sanitized ? 70 : 290, V);
        const std::vector<f32> expected = support::cold(support::open<T>(path, 1), ids);
        for (int threads : {1, 2, 3, 5}) {
            CAPTURE(threads);
            if (support::sanitized && threads != 3) continue;
            const auto model = support::open<T>(path, threads);
            for (const std::vector<int>& chunks : threads == 2 ? all_chunkings : few_chunkings) {
                CAPTURE(chunks.front());
                CHECK(different_bits(support::cold(model, ids, chunks), expected) == 0);
            }
        }
    });
}

TEST_CASE_TEMPLATE("exactness: cold or with a reused prefix, after an edit anywhere", T, f32, bf16) {
    for_each_model([](const std::filesystem::path& path, Index V) {
        const auto model = support::open<T>(path, 2);
        support::Random random{7};
        auto ids = support::random_ids(290, V);
        auto sequence = model.new_sequence(300);
        (void)support::evaluate(sequence, ids);
        for (int round = 0; round < (support::sanitized ? 3 : 12); ++round) {
            // Change one id (or none) anywhere, cut or lengthen the text, keep what comes before the change.
            const auto at = std::size_t(random.below(Index(ids.size())));
            ids[at] = Token(random.below(V));
            ids.resize(std::max<std::size_t>(at + 1, std::size_t(1 + random.below(300))), Token(random.below(V)));
            CAPTURE(at);
            CAPTURE(ids.size());
            const std::vector<f32> expected = support::cold(model, ids);
            sequence.truncate(Index(at));
            CHECK(sequence.size() == Index(at));
            const auto rest = std::span<const Token>(ids).subspan(at);
            const std::vector<f32> found = support::evaluate(sequence, rest, {1 + int(random.below(70))});
            const auto tail = support::from(expected, Index(at), V);
            CHECK(different_bits(std::span<const f32>(found), tail) == 0);
        }
    });
}

TEST_CASE_TEMPLATE("exactness: which rows are asked for, and clones, change nothing", T, f32, bf16) {
    for_each_model([](const std::filesystem::path& path, Index V) {
        const auto model = support::open<T>(path, 3);
        const auto ids = support::random_ids(100, V), other = support::random_ids(40, V, 1);
        const std::vector<f32> expected = support::cold(model, ids);

        auto sequence = model.new_sequence(200);
        const std::vector<int> rows{3, 20, 59};
        sequence.evaluate(std::span<const Token>(ids).first(60), rows);
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto row = support::from(expected, rows[i], V).first(std::size_t(V));
            CHECK(different_bits(sequence.logits(int(i)), row) == 0);
        }
        auto copy = sequence.clone();
        (void)support::evaluate(sequence, other);  // must not reach the clone
        const auto rest = support::evaluate(copy, std::span<const Token>(ids).subspan(60), {9});
        CHECK(different_bits(std::span<const f32>(rest), support::from(expected, 60, V)) == 0);

        auto silent = model.new_sequence(100);
        silent.evaluate(std::span<const Token>(ids).first(99), {});  // no logits at all
        const auto last = support::evaluate(silent, std::span<const Token>(ids).last(1));
        CHECK(different_bits(std::span<const f32>(last), support::from(expected, 99, V)) == 0);
    });
}

TEST_CASE_TEMPLATE("exactness: whatever else is evaluated beside it", T, f32, bf16) {
    for_each_model([](const std::filesystem::path& path, Index V) {
        const auto model = support::open<T>(path, 3);
        std::vector<std::vector<Token>> texts;
        std::vector<std::vector<f32>> expected;
        for (std::uint64_t i = 0; i < 4; ++i) {
            texts.push_back(support::random_ids(60 + Index(i) * 13, V, i));
            expected.push_back(support::cold(model, texts.back()));
        }
        std::atomic<Index> different = 0;
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < texts.size(); ++i)
            threads.emplace_back([&, i] {
                for (int chunk : support::sanitized ? std::vector<int>{7} : std::vector<int>{1 << 20, 7, 1})
                    different += different_bits(support::cold(model, texts[i], {chunk}), expected[i]);
            });
        for (std::thread& thread : threads) thread.join();
        CHECK(different == 0);
    });
}

TEST_CASE_TEMPLATE("acceptance E01: reuse does not change the answer", T, f32, bf16) {
    const TemporaryFolder folder;
    support::t0().write_directory(folder / "hf");
    const auto model = support::open<T>(folder / "hf", 2);
    const auto ids = support::random_ids(100, 256), prompt = std::vector<Token>(ids);
    const auto run = [&](std::vector<int> chunks, Index cached) {
        auto sequence = model.new_sequence(200);
        if (cached) {
            auto warm = ids;
            warm[std::size_t(cached)] = (warm[std::size_t(cached)] + 1) % 256;
            (void)support::evaluate(sequence, warm);
            sequence.truncate(cached);
        }
        const auto rest = std::span<const Token>(prompt).subspan(std::size_t(cached));
        const std::vector<f32> all = support::evaluate(sequence, rest, std::move(chunks));
        const std::span<const f32> last = std::span<const f32>(all).last(256);
        return std::pair(std::vector<f32>(last.begin(), last.end()), greedy(sequence, last, 64));
    };
    const auto whole = run({100}, 0);
    for (const auto& [chunks, cached] : {std::pair<std::vector<int>, Index>{{1}, 0}, {{37, 63}, 0}, {{40}, 60}}) {
        const auto other = run(chunks, cached);
        CHECK(different_bits(other.first, whole.first) == 0);
        CHECK(other.second == whole.second);
    }
}

TEST_CASE_TEMPLATE("acceptance E11: chunks may start at any position", T, f32, bf16) {
    const TemporaryFolder folder;
    support::t1().write_directory(folder / "hf");
    const auto model = support::open<T>(folder / "hf", 2);
    const auto ids = support::random_ids(100, 256);
    const std::vector<f32> expected = support::cold(model, ids);
    for (int chunk : support::sanitized ? std::vector<int>{33} : std::vector<int>{1, 2, 3, 7, 16, 33}) {
        CAPTURE(chunk);
        CHECK(different_bits(support::cold(model, ids, {chunk}), expected) == 0);
    }
}

TEST_CASE_TEMPLATE("acceptance F07: the same result for any number of threads, run to run, and for any batch", T, f32,
                   bf16) {
    const TemporaryFolder folder;
    support::t0().write_directory(folder / "hf");
    const auto ids = support::random_ids(100, 256);
    const std::vector<f32> expected = support::cold(support::open<T>(folder / "hf", 1), ids);
    for (int threads : support::sanitized ? std::vector<int>{5} : std::vector<int>{1, 2, 3, 5, 8, 16}) {
        CAPTURE(threads);
        const auto model = support::open<T>(folder / "hf", threads);
        CHECK(different_bits(support::cold(model, ids), expected) == 0);
        for (int batch : support::sanitized ? std::vector<int>{16} : std::vector<int>{1, 8, 16, 64})
            CHECK(different_bits(support::cold(model, ids, {batch}), expected) == 0);
    }
    const auto model = support::open<T>(folder / "hf", 3);
    Index different = 0;
    for (int i = 0; i < (support::sanitized ? 5 : 100); ++i)
        different += different_bits(support::cold(model, ids), expected);
    CHECK(different == 0);
}

namespace {

/// A legacy llama2.c checkpoint (tied, f32) rewritten as a Hugging Face directory of BF16 tensors.
void rewrite_as_bf16(const std::filesystem::path& checkpoint, const std::filesystem::path& folder) {
    const std::string bytes = support::read_file(checkpoint);
    std::int32_t h[7];
    std::memcpy(h, bytes.data(), sizeof h);
    TinyModel m = support::t0();
    reference::LlamaConfig& c = m.config;
    c.hidden_size = h[0], c.intermediate_size = h[1], c.num_hidden_layers = h[2], c.num_attention_heads = h[3];
    c.num_key_value_heads = h[4], c.vocab_size = h[5], c.max_position_embeddings = h[6], c.head_dim = h[0] / h[3];
    c.tie_word_embeddings = true;
    std::map<std::string, std::vector<std::int64_t>> shapes;
    for (const TinyModel::Named& t : m.tensors()) shapes[t.name] = t.shape;
    std::vector<support::FileTensor> tensors;
    std::size_t at = sizeof h;
    const auto take = [&](const std::string& name) {
        const std::vector<std::int64_t>& shape = shapes.at(name);
        std::vector<float> values(std::size_t(shape[0] * (shape.size() > 1 ? shape[1] : 1)));
        std::memcpy(values.data(), bytes.data() + at, values.size() * sizeof(float));
        at += values.size() * sizeof(float);
        if (name.find("q_proj") != std::string::npos || name.find("k_proj") != std::string::npos) {
            const std::vector<float> stored = values;  // rows 2i, 2i + 1 of a head become i, i + Dh/2
            const std::size_t cols = std::size_t(shape[1]), Dh = std::size_t(c.head_dim);
            for (std::size_t r = 0; r < std::size_t(shape[0]); ++r) {
                const std::size_t to = r / Dh * Dh + r % Dh / 2 + r % 2 * (Dh / 2);
                std::copy_n(stored.begin() + std::ptrdiff_t(r * cols), cols,
                            values.begin() + std::ptrdiff_t(to * cols));
            }
        }
        tensors.push_back(support::bf16_tensor(name, shape, values));
    };
    take("model.embed_tokens.weight");
    for (const char* part :
         {"input_layernorm", "self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj", "self_attn.o_proj",
          "post_attention_layernorm", "mlp.gate_proj", "mlp.down_proj", "mlp.up_proj"})
        for (int i = 0; i < c.num_hidden_layers; ++i)
            take("model.layers." + std::to_string(i) + "." + part + ".weight");
    take("model.norm.weight");
    std::filesystem::create_directories(folder);
    support::write_file(folder / "config.json", m.config_json());
    support::write_safetensors(folder / "model.safetensors", tensors);
}

}  // namespace

TEST_CASE("acceptance F05: bf16 rounds where the contract says, so a trained model says the same as in f32") {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("no ../shared/data/llama2c, no trained model: skipped");
        return;
    }
    const TemporaryFolder folder;
    rewrite_as_bf16(*shared / "llama2c" / "stories260K.bin", folder / "hf");
    const auto exact = support::open<f32>(folder / "hf", 2);
    const auto rounded = support::open<bf16>(folder / "hf", 2);
    const Index V = exact.config().vocab_size;
    double loss_f32 = 0, loss_bf16 = 0;
    int agreed = 0, positions = 0;
    for (std::uint64_t text = 0; text < (support::sanitized ? 3u : 6u); ++text) {
        // A text that the model itself wrote, at temperature 1.
        support::Random random{text};
        auto writer = exact.new_sequence(400);
        std::vector<Token> ids{1};
        const int first_row[] = {0};
        while (ids.size() < 400) {
            writer.evaluate(std::span<const Token>(&ids.back(), 1), first_row);
            const std::span<const f32> logits = writer.logits(0);
            const double max = double(*std::max_element(logits.begin(), logits.end()));
            double sum = 0;
            for (f32 x : logits) sum += std::exp(double(x) - max);
            double left = (random.uniform() + 1) / 2 * sum;
            Token id = 0;
            while (id + 1 < V && (left -= std::exp(double(logits[std::size_t(id)]) - max)) > 0) ++id;
            ids.push_back(id);
        }
        const std::vector<f32> a = support::cold(exact, ids), b = support::cold(rounded, ids);
        const auto judge = [V](const std::vector<f32>& all, std::size_t m, Token next, double& loss) {
            const auto row = std::span<const f32>(all).subspan(m * std::size_t(V), std::size_t(V));
            const auto max = std::max_element(row.begin(), row.end());
            double sum = 0;
            for (f32 x : row) sum += std::exp(double(x) - double(*max));
            loss += std::log(sum) + double(*max) - double(row[std::size_t(next)]);
            return max - row.begin();
        };
        for (std::size_t m = 0; m + 1 < ids.size(); ++m, ++positions)
            agreed += judge(a, m, ids[m + 1], loss_f32) == judge(b, m, ids[m + 1], loss_bf16);
    }
    CAPTURE(positions);
    CHECK(positions >= 1000);
    CHECK(agreed >= 0.97 * positions);
    const double perplexity_f32 = std::exp(loss_f32 / positions), perplexity_bf16 = std::exp(loss_bf16 / positions);
    CAPTURE(perplexity_f32);
    CHECK(std::abs(perplexity_bf16 / perplexity_f32 - 1) <= 0.003);
}

TEST_CASE("acceptance F05: the rotation of position 100000 is right to 1e-5") {
    std::vector<double> inv_freq;
    for (int i = 0; i < 64; ++i) inv_freq.push_back(std::pow(500000.0, -i / 64.0));
    Context<CPU> ctx(1);
    support::TestTensor<f32> cos({1, 64}), sin({1, 64});
    ops::rope_table<CPU>(ctx, cos, sin, inv_freq, Positions{100000, 1});
    const reference::RopeTable expected = reference::rope_table(inv_freq, 100000, 1);
    CHECK(support::max_error(cos, expected.cos) <= 1e-7);  // double inside, rounded once
    CHECK(support::max_error(sin, expected.sin) <= 1e-7);
}

TEST_CASE_TEMPLATE("exactness: SmolLM2", T, f32, bf16) {
    const auto path = support::smollm2();
    if (!path) {
        MESSAGE("SKIPPED: no SmolLM2 in the cache (run scripts/get-model)");
        return;
    }
    const auto model = support::open<T>(*path, 2);
    const Index n = support::sanitized ? 20 : 80, V = model.config().vocab_size;
    const auto ids = support::random_ids(n, V);
    const std::vector<f32> expected = support::cold(model, ids);
    for (int chunk : {1, 2, 3, 7, 16, 33}) {
        if (support::sanitized && chunk != 7) continue;
        CAPTURE(chunk);
        CHECK(different_bits(support::cold(model, ids, {chunk}), expected) == 0);
    }
    // An edit at a third, on a sequence that goes on from there.
    auto edited = ids;
    edited[std::size_t(n / 3)] = (ids[std::size_t(n / 3)] + 1) % Token(V);
    auto sequence = model.new_sequence(n);
    (void)support::evaluate(sequence, ids);
    sequence.truncate(n / 3);
    const auto rest = support::evaluate(sequence, std::span<const Token>(edited).subspan(std::size_t(n / 3)), {5, 40});
    const std::vector<f32> cold = support::cold(model, edited);
    CHECK(different_bits(std::span<const f32>(rest), support::from(cold, n / 3, V)) == 0);
    if (support::sanitized) return;
    for (int threads : {1, 3, 5}) {
        CAPTURE(threads);
        const auto other = support::open<T>(*path, threads);
        CHECK(different_bits(support::cold(other, ids, {threads == 3 ? 1 : 1 << 20}), expected) == 0);
    }
}
