#include <doctest/doctest.h>
#include <l3/model/model.hpp>
#include <l3/ops/cpu/ops.hpp>
#include "support/evaluate.hpp"

using namespace l3;
using doctest::Contains;
using support::different_bits;
using support::TemporaryFolder;

namespace {

/// T0 as Model<T, CPU>.
template <class T>
Model<T, CPU> t0(ModelOptions options = support::with_threads(2)) {
    const TemporaryFolder folder;  // the weights stay mapped when it is gone
    support::t0("BF16").write_directory(folder / "hf");
    return Model<T, CPU>(folder / "hf", options);
}

/// A host's executor that runs tasks on the calling thread and calls something before each.
struct HostExecutor final : cpu::Executor {
    std::function<void(int)> before = [](int) {};
    int calls = 0;
    [[nodiscard]] int threads() const noexcept override { return 3; }
    void run(int slots, void (*task)(void*, int), void* data) override {
        before(calls++);
        for (int slot = 0; slot < slots; ++slot) task(data, slot);
    }
};

constexpr int first_row[] = {0};

}  // namespace

TEST_CASE_TEMPLATE("Sequence: rows asked for, in any order and number, have the logits of their positions", T, bf16,
                   f32) {
    const Model<T, CPU> model = t0<T>();
    const auto ids = support::random_ids(20, 256);
    const std::vector<f32> all = support::cold(model, ids);
    Sequence<T, CPU> sequence = model.new_sequence(20);
    const int rows[] = {19, 3, 3, 0};
    sequence.evaluate(ids, rows);
    CHECK(sequence.size() == 20);
    for (int i = 0; i < 4; ++i)
        CHECK(different_bits(sequence.logits(i), std::span(all).subspan(std::size_t(rows[i] * 256), 256)) == 0);
    CHECK_THROWS_WITH_AS((void)sequence.logits(4), "logits of row 4 of 4 that were evaluated", ArgumentError);
    CHECK_THROWS_AS((void)sequence.logits(-1), ArgumentError);

    sequence.truncate(10);
    sequence.evaluate(std::span(ids).subspan(10), {});
    CHECK(sequence.size() == 20);
    CHECK_THROWS_AS((void)sequence.logits(0), ArgumentError);
    sequence.evaluate({}, {});
    CHECK(sequence.size() == 20);
}

TEST_CASE_TEMPLATE("acceptance E11: chunks of any size against one shot, over 100 tokens", T, bf16, f32) {
    const Model<T, CPU> model = t0<T>();
    const auto ids = support::random_ids(100, 256, 11);
    const std::vector<f32> expected = support::cold(model, ids);
    for (int chunk : {1, 2, 3, 7, 16, 33}) {
        CAPTURE(chunk);
        CHECK(different_bits(support::cold(model, ids, {chunk}), expected) == 0);
    }
}

TEST_CASE_TEMPLATE("acceptance E12: truncate, and continue as if cold", T, bf16, f32) {
    const Model<T, CPU> model = t0<T>();
    auto ids = support::random_ids(50, 256, 12);
    auto sequence = model.new_sequence(60);
    (void)support::evaluate(sequence, ids);
    CHECK_THROWS_WITH_AS(sequence.truncate(51), "truncate to 51 tokens: there are 50", ArgumentError);
    CHECK_THROWS_AS(sequence.truncate(-1), ArgumentError);
    CHECK(sequence.size() == 50);
    sequence.truncate(20);
    CHECK(sequence.size() == 20);
    const auto others = support::random_ids(30, 256, 13);
    std::copy(others.begin(), others.end(), ids.begin() + 20);
    const std::vector<f32> warm = support::evaluate(sequence, std::span(ids).subspan(20));
    CHECK(different_bits(warm, support::from(support::cold(model, ids), 20, 256)) == 0);
}

TEST_CASE("Sequence: ids, rows and lengths that cannot be are refused before any work") {
    auto executor = std::make_shared<HostExecutor>();
    ModelOptions options;
    options.executor = executor;
    const Model<f32, CPU> model = t0<f32>(options);
    auto sequence = model.new_sequence(6);
    sequence.evaluate(std::vector<Token>{1, 2}, first_row);
    const std::vector<f32> before(sequence.logits(0).begin(), sequence.logits(0).end());
    const int calls = executor->calls;
    const auto refuses = [&](std::vector<Token> ids, std::vector<int> rows, const char* text) {
        CHECK_THROWS_WITH_AS(sequence.evaluate(ids, rows), text, ArgumentError);
        CHECK(sequence.size() == 2);
        CHECK(executor->calls == calls);
        CHECK(different_bits(sequence.logits(0), before) == 0);  // still there
    };
    refuses({1, 256}, {}, "token id 256 is outside of the vocabulary: ids are from 0 to below vocab_size 256");
    refuses({-1}, {}, "token id -1 is outside of the vocabulary: ids are from 0 to below vocab_size 256");
    refuses({1, 2}, {2}, "logits of row 2 of 2 tokens were asked for");
    refuses({1, 2}, {-1}, "logits of row -1 of 2 tokens were asked for");
    refuses({1, 2, 3, 4, 5}, {}, "7 tokens do not fit the context of 6 (2 are in it)");
    CHECK_THROWS_AS(sequence.evaluate(std::vector<Token>{1, 2, 3, 4, 5}, {}), ContextFullError);
    CHECK_THROWS_WITH_AS((void)model.new_sequence(0), "a context of 0 tokens; expected at least 1", ArgumentError);
    CHECK_THROWS_AS((void)model.new_sequence(-3), ArgumentError);
}

TEST_CASE_TEMPLATE("acceptance I07: a stop anywhere in an evaluation leaves the sequence as it was", T, bf16, f32) {
    auto executor = std::make_shared<HostExecutor>();
    ModelOptions options;
    options.executor = executor;
    const Model<T, CPU> model = t0<T>(options);
    const auto ids = support::random_ids(60, 256);
    const std::vector<f32> expected = support::cold(model, ids);
    auto sequence = model.new_sequence(60);
    (void)support::evaluate(sequence, std::span(ids).first(20));
    const int before = executor->calls;
    (void)support::cold(model, ids);
    const int whole = executor->calls - before;
    REQUIRE(whole > 5);
    for (int stop_at : {0, 1, whole / 3, whole / 2}) {
        CAPTURE(stop_at);
        std::stop_source source;
        executor->calls = 0;
        executor->before = [&](int call) {
            if (call >= stop_at) source.request_stop();
        };
        const auto rest = std::span(ids).subspan(20);
        CHECK_THROWS_AS(sequence.evaluate(rest, first_row, source.get_token()), CancelledError);
        CHECK(executor->calls <= stop_at + 1);  // nothing begins after the request
        CHECK(sequence.size() == 20);
        executor->before = [](int) {};
        CHECK(different_bits(support::evaluate(sequence, rest), support::from(expected, 20, 256)) == 0);
        sequence.truncate(20);
    }
    std::stop_source stopped;
    stopped.request_stop();
    CHECK_THROWS_AS(sequence.evaluate(std::span(ids).first(1), {}, stopped.get_token()), CancelledError);
    CHECK_NOTHROW(sequence.evaluate(std::span(ids).first(1), {}));  // the token was for that call only
}

TEST_CASE("Sequence: after an exception of the host's executor it is as it was") {
    auto executor = std::make_shared<HostExecutor>();
    ModelOptions options;
    options.executor = executor;
    const Model<f32, CPU> model = t0<f32>(options);
    const auto ids = support::random_ids(40, 256);
    const std::vector<f32> expected = support::cold(model, ids);
    auto sequence = model.new_sequence(40);
    executor->calls = 0;
    executor->before = [](int call) {
        if (call == 2) throw std::runtime_error("from the host");
    };
    CHECK_THROWS_WITH_AS(sequence.evaluate(ids, {}), "from the host", std::runtime_error);
    CHECK(sequence.size() == 0);
    executor->before = [](int) {};
    CHECK(different_bits(support::evaluate(sequence, ids), expected) == 0);
}

TEST_CASE_TEMPLATE("Sequence: a clone has the same logits, then goes its own way", T, bf16, f32) {
    const Model<T, CPU> model = t0<T>();
    const auto ids = support::random_ids(60, 256), others = support::random_ids(30, 256, 5);
    auto sequence = model.new_sequence(60);
    (void)support::evaluate(sequence, std::span(ids).first(30));
    auto copy = sequence.clone();
    CHECK(copy.size() == 30);
    CHECK(copy.capacity() == 60);
    CHECK(different_bits(copy.logits(29), sequence.logits(29)) == 0);
    (void)support::evaluate(sequence, others);
    auto joined = ids;
    std::copy(others.begin(), others.end(), joined.begin() + 30);
    CHECK(different_bits(support::evaluate(copy, std::span(ids).subspan(30)),
                         support::from(support::cold(model, ids), 30, 256)) == 0);
    sequence.truncate(30);
    CHECK(different_bits(support::evaluate(sequence, others), support::from(support::cold(model, joined), 30, 256)) ==
          0);
}

TEST_CASE("Sequence: keeps the model's weights alive") {
    auto sequence = t0<bf16>().new_sequence(8);
    const auto ids = support::random_ids(8, 256);
    CHECK(different_bits(support::evaluate(sequence, ids), support::cold(t0<bf16>(), ids)) == 0);
}
