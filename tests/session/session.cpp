#include "l3/session/session.hpp"
#include "support/fake_model.hpp"
#include <doctest/doctest.h>
#include <numeric>

using namespace l3;
using support::FakeModel;

namespace {

std::vector<Token> numbers(Index n, Token first = 0) {
    std::vector<Token> ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), first);
    return ids;
}
std::vector<Token> joined(std::span<const Token> a, std::span<const Token> b) {
    std::vector<Token> ids(a.begin(), a.end());
    ids.insert(ids.end(), b.begin(), b.end());
    return ids;
}
std::vector<Token> list(std::span<const Token> ids) { return {ids.begin(), ids.end()}; }

/// The logits after these ids in a session that knows nothing.
std::vector<f32> cold(const FakeModel& model, const std::vector<Token>& ids) {
    Session session(model);
    const std::span<const f32> logits = session.prefill(ids);
    return {logits.begin(), logits.end()};
}
bool same(std::span<const f32> a, const std::vector<f32>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace

TEST_CASE("a prompt in chunks of any size, or token by token, is one prompt") {
    const FakeModel model;
    const std::vector<Token> ids = numbers(50);
    const std::vector<f32> expected = cold(model, ids);
    for (Index chunk : {1, 2, 7, 49, 50, 51, 512}) {
        CAPTURE(chunk);
        Session session(model, {.chunk = chunk});
        model.state().evaluations.clear();
        CHECK(same(session.prefill(ids), expected));
        CHECK(Index(model.state().evaluations.size()) == (50 + chunk - 1) / chunk);
        CHECK(list(session.ids()) == ids);
    }
    Session session(model);
    for (Token id : ids) session.decode(id);
    CHECK(same(session.logits(), expected));
    CHECK(same(session.prefill(numbers(10, 7)), cold(model, joined(ids, numbers(10, 7)))));
}

TEST_CASE("acceptance E02: the same prompt again evaluates one token at most") {
    const FakeModel model;
    Session session(model);
    const std::vector<Token> ids = numbers(30);
    const std::vector<f32> expected = cold(model, ids);
    SyncResult result = session.sync(ids);
    CHECK(result.reused == 0);
    CHECK(result.evaluated == 30);
    result = session.sync(ids);
    CHECK(result.evaluated == 0);  // its logits are still there
    CHECK(same(result.logits, expected));
    for (int i = 0; i < 4; ++i) {
        session.decode(5);  // something generated
        CHECK(session.reusable(ids) == 29);
        result = session.sync(ids);
        CHECK(result.reused == 29);
        CHECK(result.evaluated == 1);
        CHECK(same(result.logits, expected));
    }
}

TEST_CASE("acceptance E03: what is shared with the last text is reused, wherever they part") {
    const FakeModel model;
    const std::vector<Token> old = numbers(40);
    for (Index at : {0, 1, 20, 38, 39, 40})
        for (Index more : {0, 1, 17}) {
            CAPTURE(at);
            CAPTURE(more);
            Session session(model, {.chunk = 8});
            session.prefill(old);
            const std::vector<Token> wanted = joined(std::span(old).first(std::size_t(at)), numbers(more, 100));
            const SyncResult result = session.sync(wanted);
            const Index expected = more > 0 ? more : at == 40 || at == 0 ? 0 : 1;
            CHECK(result.evaluated == expected);
            CHECK(result.reused == at + more - expected);
            CHECK(list(session.ids()) == wanted);
            if (at + more > 0) CHECK(same(result.logits, cold(model, wanted)));
            else CHECK(result.logits.empty());
        }
}

TEST_CASE("acceptance E06: a context that is full is an error before any work, with both numbers") {
    const FakeModel model;
    Session session(model, {.context = 64});
    CHECK(session.context() == 64);
    CHECK_THROWS_WITH_AS(session.prefill(numbers(65)), "65 tokens do not fit the context of 64", ContextFullError);
    CHECK_THROWS_WITH_AS((void)session.sync(numbers(65)), "65 tokens do not fit the context of 64", ContextFullError);
    CHECK(model.state().evaluations.empty());
    session.prefill(numbers(60));
    CHECK_THROWS_WITH_AS(session.prefill(numbers(5)), "65 tokens do not fit the context of 64", ContextFullError);
    CHECK(session.size() == 60);
    CHECK(session.has_logits());
    session.prefill(numbers(4));
    CHECK_THROWS_WITH_AS(session.decode(1), "65 tokens do not fit the context of 64", ContextFullError);

    CHECK(Session(model).context() == 512);
    model.state().config.max_position_embeddings = 131072;
    CHECK(Session(model).context() == 4096);
    CHECK(Session(model, {.context = 5000}).context() == 5000);
    CHECK_THROWS_WITH_AS(Session(model, {.context = 131073}),
                         "a context of 131073 tokens, expected 1 to the model's max_position_embeddings, 131072",
                         ArgumentError);
    for (Index none : {0, -1}) CHECK_THROWS_AS(Session(model, {.context = none}), ArgumentError);
    CHECK_THROWS_WITH_AS(Session(model, {.chunk = 0}), "prefill chunks of 0 tokens", ArgumentError);
    Session one(model, {.context = 1});
    one.decode(3);
    CHECK_THROWS_AS(one.decode(3), ContextFullError);
}

TEST_CASE("acceptance E12: rewind to any point") {
    const FakeModel model;
    Session session(model);
    const std::vector<Token> ids = numbers(50);
    session.prefill(ids);
    session.truncate(20);
    CHECK(session.size() == 20);
    CHECK_FALSE(session.has_logits());
    CHECK_THROWS_WITH_AS((void)session.logits(), "the logits of the last token are not there: evaluate it again",
                         ArgumentError);
    CHECK(same(session.prefill(numbers(9, 200)), cold(model, joined(numbers(20), numbers(9, 200)))));
    CHECK_THROWS_WITH_AS(session.truncate(51), "truncate to 51 tokens: there are 29", ArgumentError);
    CHECK_THROWS_AS(session.truncate(-1), ArgumentError);
    CHECK(session.size() == 29);
    session.truncate(29);
    CHECK(session.has_logits());
    session.truncate(0);
    CHECK(same(session.prefill(ids), cold(model, ids)));
}

TEST_CASE("a fork goes its own way") {
    const FakeModel model;
    Session session(model, {.context = 100});
    session.prefill(numbers(30));
    Session fork = session.fork();
    CHECK(fork.context() == 100);
    CHECK(list(fork.ids()) == numbers(30));
    CHECK(same(fork.logits(), cold(model, numbers(30))));
    CHECK(same(fork.decode(7), cold(model, joined(numbers(30), numbers(1, 7)))));
    CHECK(same(session.logits(), cold(model, numbers(30))));
    CHECK(same(session.decode(8), cold(model, joined(numbers(30), numbers(1, 8)))));
    CHECK(fork.ids().back() == 7);
    fork.truncate(10);
    CHECK_FALSE(fork.fork().has_logits());
    CHECK(session.size() == 31);
}

TEST_CASE("logits of chosen positions") {
    const FakeModel model;
    for (Index chunk : {1, 3, 512}) {
        Session session(model, {.chunk = chunk});
        const std::vector<Token> ids = numbers(20);
        session.prefill(std::span(ids).first(5));
        std::vector<Index> seen;
        const std::vector<Index> positions = {5, 6, 11, 18};
        session.prefill(std::span(ids).subspan(5), positions, [&](Index position, std::span<const f32> logits) {
            seen.push_back(position);
            CHECK(same(logits, cold(model, list(std::span(ids).first(std::size_t(position) + 1)))));
        });
        CHECK(seen == positions);
        CHECK(session.size() == 20);
        CHECK_FALSE(session.has_logits());  // the last one was not asked for
    }
    SUBCASE("not so many at once that their memory matters") {
        model.state().config.vocab_size = 8 << 20;
        model.state().logits = [](std::span<const Token> ids, std::span<f32> logits) { logits[0] = f32(ids.size()); };
        model.state().evaluations.clear();
        Session session(model);
        std::vector<Index> all(6);
        std::iota(all.begin(), all.end(), 0);
        Index next = 0;
        session.prefill(numbers(6), all, [&](Index position, std::span<const f32> logits) {
            CHECK(position == next++);
            CHECK(logits[0] == f32(position + 1));
        });
        CHECK(next == 6);
        CHECK(model.state().evaluations == std::vector<Index>{2, 2, 2});
        CHECK(session.has_logits());
    }
    SUBCASE("positions that are not there are named") {
        Session session(model);
        session.prefill(numbers(3));
        const auto ask = [&](std::vector<Index> positions) {
            session.prefill(numbers(4), positions, [](Index, std::span<const f32>) {});
        };
        CHECK_THROWS_WITH_AS(ask({2}), "logits of position 2: the new tokens are at 3 to 6, and positions ascend",
                             ArgumentError);
        CHECK_THROWS_AS(ask({7}), ArgumentError);
        CHECK_THROWS_AS(ask({4, 4}), ArgumentError);
        CHECK(session.size() == 3);
    }
}

TEST_CASE("tokens that are none are refused before any work") {
    const FakeModel model;
    Session session(model);
    CHECK_THROWS_WITH_AS(session.prefill(std::vector<Token>{1, 300}),
                         "token id 300 at position 1: expected ids below 300", ArgumentError);
    CHECK_THROWS_WITH_AS((void)session.sync(std::vector<Token>{-1}),
                         "token id -1 at position 0: expected ids below 300", ArgumentError);
    CHECK_THROWS_WITH_AS(session.prefill({}), "prefill with no tokens", ArgumentError);
    CHECK(model.state().evaluations.empty());
}

TEST_CASE("acceptance I07: a stop in the prompt phase leaves a session that works") {
    const FakeModel model;
    const std::vector<Token> ids = numbers(100);
    std::stop_source source;
    int calls = 0;
    model.state().on_evaluate = [&](std::span<const Token>) {
        if (++calls == 3) source.request_stop();
    };

    SUBCASE("prefill: as if nothing had been") {
        Session session(model, {.chunk = 10});
        session.prefill(numbers(5, 150));
        CHECK_THROWS_AS(session.prefill(ids, source.get_token()), CancelledError);
        CHECK(list(session.ids()) == numbers(5, 150));
        CHECK_FALSE(session.has_logits());
        CHECK(same(session.prefill(ids), cold(model, joined(numbers(5, 150), ids))));
    }
    SUBCASE("sync: goes on where it was stopped") {
        Session session(model, {.chunk = 10});
        CHECK_THROWS_AS((void)session.sync(ids, source.get_token()), CancelledError);
        CHECK(list(session.ids()) == numbers(20));
        const SyncResult result = session.sync(ids);
        CHECK(result.reused == 20);
        CHECK(result.evaluated == 80);
        CHECK(same(result.logits, cold(model, ids)));
    }
    SUBCASE("stopped before it began") {
        source.request_stop();
        Session session(model);
        CHECK_THROWS_AS(session.decode(1, source.get_token()), CancelledError);
        CHECK(session.size() == 0);
        CHECK(model.state().evaluations.empty());
    }
}

TEST_CASE("after any other exception the ids are what they were") {
    const FakeModel model;
    Session session(model, {.chunk = 10});
    session.prefill(numbers(15));
    int calls = 0;
    model.state().on_evaluate = [&](std::span<const Token>) {
        if (++calls == 2) throw 17;
    };
    CHECK_THROWS_AS(session.prefill(numbers(30, 100)), int);
    CHECK(list(session.ids()) == numbers(15));
    const std::vector<Index> positions = {15, 16};
    CHECK_THROWS_AS(session.prefill(numbers(30, 100), positions, [](Index, std::span<const f32>) { throw 18; }), int);
    CHECK(list(session.ids()) == numbers(15));
    CHECK(same(session.prefill(numbers(30, 100)), cold(model, joined(numbers(15), numbers(30, 100)))));
}

TEST_CASE("a moved session goes on") {
    const FakeModel model;
    Session a(model);
    a.prefill(numbers(10));
    Session b = std::move(a);
    CHECK(same(b.logits(), cold(model, numbers(10))));
    CHECK(same(b.decode(3), cold(model, joined(numbers(10), numbers(1, 3)))));
}
