// Promise 1 through sessions: whatever was reused, forked or evaluated beside, the logits have the bits of a cold run.
#include "l3/session/generate.hpp"
#include "support/evaluate.hpp"
#include <atomic>
#include <doctest/doctest.h>
#include <l3/model/any_model.hpp>
#include <thread>

using namespace l3;
using support::TemporaryFolder;

namespace {

template <class M>
std::vector<f32> cold_logits(const M& model, std::span<const Token> ids) {
    Session session(model);
    const std::span<const f32> logits = session.prefill(ids);
    return {logits.begin(), logits.end()};
}
bool same_bits(std::span<const f32> a, std::span<const f32> b) {
    return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}
std::vector<Token> joined(std::span<const Token> a, std::span<const Token> b) {
    std::vector<Token> ids(a.begin(), a.end());
    ids.insert(ids.end(), b.begin(), b.end());
    return ids;
}

/// A model that can be a chat partner of nothing, but has real arithmetic.
template <DType T>
struct Tiny {
    TemporaryFolder folder;
    Model<T, CPU> model;
    explicit Tiny(int threads, int max_positions = 512)
        : model(written(folder, max_positions), support::with_threads(threads)) {}
    static std::filesystem::path written(const TemporaryFolder& folder, int max_positions) {
        support::TinyModel tiny = support::t0(std::same_as<T, bf16> ? "BF16" : "F32");
        tiny.config.max_position_embeddings = max_positions;
        tiny.write_directory(folder / "model");
        return folder / "model";
    }
};

}  // namespace

TEST_CASE_TEMPLATE("exactness: after any edits, forks and rewinds the logits are those of a cold run", T, f32, bf16) {
    const Tiny<T> tiny(2);
    for (std::uint64_t seed = 0; seed < (support::sanitized ? 2 : 12); ++seed) {
        std::uint64_t counter = 0;
        const auto below = [&](Index n) { return Index(uniform(seed, counter++) * double(n)); };
        Session session(tiny.model, {.context = 400, .chunk = 1 + below(70)});
        std::vector<Token> ids = support::random_ids(1 + below(300), 256, seed);
        REQUIRE(same_bits(session.sync(ids).logits, cold_logits(tiny.model, ids)));
        for (int step = 0; step < 6; ++step) {
            const Index at = below(Index(ids.size()) + 1);
            const std::vector<Token> kept(ids.begin(), ids.begin() + at);
            ids = joined(kept, support::random_ids(1 + below(390 - at > 0 ? 390 - at : 1), 256,
                                                   seed * 100 + std::uint64_t(step)));
            if (step % 3 == 1) {
                session.truncate(below(session.size() + 1));
            } else if (step % 3 == 2) {
                Session fork = session.fork();
                fork.truncate(below(fork.size() + 1));
                fork.prefill(support::random_ids(5, 256, seed));
                session = session.fork();
            }
            const SyncResult result = session.sync(ids);
            CHECK(result.reused + result.evaluated == Index(ids.size()));
            CHECK(same_bits(result.logits, cold_logits(tiny.model, ids)));
        }
    }
}

TEST_CASE("exactness: chosen positions, in any chunks, have the logits of decoding one by one") {
    const Tiny<bf16> tiny(2);
    const std::vector<Token> ids = support::random_ids(80, 256);
    std::vector<std::vector<f32>> expected;
    Session decoding(tiny.model);
    for (Token id : ids) {
        const auto logits = decoding.decode(id);
        expected.emplace_back(logits.begin(), logits.end());
    }
    const std::vector<Index> positions = {0, 1, 13, 40, 78, 79};
    for (Index chunk : {1, 7, 80}) {
        Session session(tiny.model, {.chunk = chunk});
        std::size_t n = 0;
        session.prefill(ids, positions, [&](Index position, std::span<const f32> logits) {
            CHECK(position == positions[n++]);
            CHECK(same_bits(logits, expected[std::size_t(position)]));
        });
        CHECK(n == positions.size());
    }
}

TEST_CASE_TEMPLATE("eight sessions on one model in eight threads generate what each would alone", T, f32, bf16) {
    const Tiny<T> tiny(3);
    const auto run = [&](int i) {
        Session session(tiny.model, {.chunk = 1 + 5 * i});
        GenerateOptions options{.max_tokens = 12, .ignore_eos = true};
        if (i % 2) options.sampling = {.temperature = 1, .top_k = 50, .seed = std::uint64_t(i)};
        std::vector<Token> ids;
        for (int again = 0; again < 3; ++again) {
            const std::vector<Token> prompt = support::random_ids(20 + 10 * i, 256, std::uint64_t(i));
            const GenerateResult result =
                generate(session, std::span(prompt).first(prompt.size() - std::size_t(again)), options).run();
            ids.insert(ids.end(), result.ids.begin(), result.ids.end());
        }
        return ids;
    };
    std::vector<std::vector<Token>> alone, together(8);
    for (int i = 0; i < 8; ++i) alone.push_back(run(i));
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 8; ++i) threads.emplace_back([&, i] { together[std::size_t(i)] = run(i); });
    }
    CHECK(together == alone);
}

TEST_CASE("a session keeps its model alive, and AnyModel is a model like others") {
    const std::vector<Token> ids = support::random_ids(30, 256);
    std::vector<f32> expected;
    std::optional<Session<Model<bf16, CPU>>> session;
    std::optional<Session<AnyModel>> any;
    {
        const Tiny<bf16> tiny(1);
        expected = cold_logits(tiny.model, ids);
        session.emplace(tiny.model);
        any.emplace(AnyModel(tiny.model));
    }
    CHECK(same_bits(session->prefill(ids), expected));
    CHECK(same_bits(any->prefill(ids), expected));
    CHECK(same_bits(any->fork().logits(), expected));
}

TEST_CASE("acceptance I07: a real prompt is stopped within it, and the session then answers as a cold one") {
    const Tiny<bf16> tiny(2, 8192);
    const std::vector<Token> prompt = support::random_ids(8000, 256), other = support::random_ids(50, 256, 1);
    Session session(tiny.model, {.context = 8192});
    std::stop_source source;
    std::jthread stopper([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        source.request_stop();
    });
    auto generation = generate(session, prompt, {.max_tokens = 1, .stop_token = source.get_token()});
    generation.run();
    if (generation.result().finish_reason == "length") MESSAGE("evaluated before it could be stopped");
    else CHECK(generation.result().finish_reason == "cancelled");
    CHECK(same_bits(session.sync(other).logits, cold_logits(tiny.model, other)));

    source = std::stop_source();
    source.request_stop();
    CHECK_THROWS_AS(session.decode(1, source.get_token()), CancelledError);
    CHECK(session.size() == 50);
    CHECK(same_bits(session.decode(1), cold_logits(tiny.model, joined(other, std::vector<Token>{1}))));
}

TEST_CASE("stories260K, greedy from the start token: the text of llama2.c's program, byte for byte") {
    const auto data = support::shared_data();
    if (!data) {
        MESSAGE("no shared data: skipped");
        return;
    }
    std::string expected = support::read_file(*data / "llama2c" / "greedy.txt");
    REQUIRE(expected.ends_with('\n'));
    expected.pop_back();
    ModelOptions options = support::with_threads(2);
    options.tokenizer = *data / "llama2c" / "tok512.bin";
    const Model<f32, CPU> model(*data / "llama2c" / "stories260K.bin", options);
    Session session(model);
    CHECK(session.context() == 512);
    const std::vector<Token> start = {model.tokenizer().bos().value()};
    const GenerateOptions greedy{.max_tokens = 257, .sampling = {.temperature = 0}};
    auto generation = generate(session, start, greedy);
    std::string text;
    for (std::string_view piece : generation) text += piece;
    CHECK(text == expected);
    CHECK(generation.result().text == expected);
    MESSAGE(generation.result().generated_tokens << " tokens");

    // the same again, by AnyModel, in odd chunks, from the middle
    Session any(AnyModel(model), {.chunk = 3});
    std::vector<Token> ids = start;
    ids.insert(ids.end(), generation.result().ids.begin(), generation.result().ids.begin() + 100);
    CHECK(generate(any, ids, {.max_tokens = 156, .sampling = {.temperature = 0}}).run().ids ==
          std::vector<Token>(generation.result().ids.begin() + 100, generation.result().ids.begin() + 256));
}
