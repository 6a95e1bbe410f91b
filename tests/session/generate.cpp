#include "l3/session/generate.hpp"
#include "support/fake_model.hpp"
#include <doctest/doctest.h>
#include <numeric>

using namespace l3;
using support::FakeModel;

namespace {

const std::vector<Token> prompt = {72, 105, 33};  // "Hi!"

FakeModel fake(const support::FakeTokenizer& tokenizer = {}) {
    FakeModel model;
    model.use(tokenizer);
    return model;
}

/// The ids of single-byte tokens.
std::vector<Token> bytes(std::string_view text) {
    std::vector<Token> ids;
    for (char c : text) ids.push_back(Token(static_cast<unsigned char>(c)));
    return ids;
}
std::vector<Token> operator+(std::vector<Token> a, const std::vector<Token>& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Output {
    std::vector<std::string> pieces;
    GenerateResult result;
};
/// What the model forced to emit these tokens generates, streamed.
Output stream(const FakeModel& model, const std::vector<Token>& forced, const GenerateOptions& options = {}) {
    model.emit(Index(prompt.size()), forced);
    Session session(model);
    auto generation = generate(session, prompt, options);
    Output out;
    std::string all;
    for (std::string_view piece : generation) {
        CHECK(!piece.empty());
        out.pieces.emplace_back(piece);
        all += piece;
    }
    out.result = generation.result();
    CHECK(all == out.result.text);
    CHECK(out.result.generated_tokens == Index(out.result.ids.size()));
    CHECK(out.result.prompt_tokens == out.result.reused_tokens + out.result.evaluated_tokens);
    // and not streamed
    session.truncate(0);
    CHECK(generate(session, prompt, options).run().text == all);
    return out;
}
using Pieces = std::vector<std::string>;

static_assert(std::ranges::input_range<Generation<FakeModel>>);
static_assert(std::same_as<std::ranges::range_value_t<Generation<FakeModel>>, std::string_view>);
static_assert(std::same_as<std::ranges::range_reference_t<Generation<FakeModel>>, std::string_view>);

}  // namespace

TEST_CASE("acceptance C01: any of the end ids ends it, and is not text") {
    const FakeModel model = fake();
    const Token end = model.id("<|end|>"), eot = model.id("<|eot_id|>"), letter = 'q';
    model.state().end_ids = {end, eot, letter};
    for (Token stop : {end, eot, letter}) {
        const Output out = stream(model, bytes("yes") + std::vector<Token>{stop, 'n', 'o'});
        CHECK(out.result.text == "yes");
        CHECK(out.result.finish_reason == "stop");
        CHECK(out.result.ids == bytes("yes") + std::vector<Token>{stop});
    }
    const Output own = stream(model, bytes("yes,no"), {.end_ids = {','}});
    CHECK(own.result.text == "yes");
    CHECK(own.result.finish_reason == "stop");

    SUBCASE("no end id anywhere: to max_tokens") {
        model.state().end_ids.clear();
        const Output out = stream(model, {'a', end, 'b'}, {.max_tokens = 10});
        CHECK(out.result.text == "abbbbbbbb");
        CHECK(out.result.finish_reason == "length");
        CHECK(out.result.generated_tokens == 10);
    }
    SUBCASE("ignore_eos: they are tokens like others") {
        const Output out = stream(model, {'a', end, letter}, {.max_tokens = 5, .ignore_eos = true});
        CHECK(out.result.text == "aqqq");
        CHECK(out.result.finish_reason == "length");
    }
}

TEST_CASE("acceptance C09: control tokens are invisible, but stop strings") {
    const FakeModel model = fake();
    const Token reserved = model.id("<|reserved|>"), eom = model.id("<|eom_id|>"), end = model.id("<|end|>");
    const Output hidden = stream(model, {'a', reserved, 'b', eom, end});
    CHECK(hidden.result.text == "ab");
    CHECK(hidden.result.generated_tokens == 5);
    const Output stopped =
        stream(model, {'a', reserved, 'b', eom, 'c', end}, {.stop = {"<|eom_id|>"}, .ignore_eos = true});
    CHECK(stopped.result.text == "ab");
    CHECK(stopped.result.finish_reason == "stop");
    CHECK(stopped.result.ids.back() == eom);
    // also when it is written in letters
    const Output spelled = stream(model, bytes("a<|eom_id|>b") + std::vector<Token>{end}, {.stop = {"<|eom_id|>"}});
    CHECK(spelled.result.text == "a");
}

TEST_CASE("acceptance J02: stop strings across tokens, streamed or not") {
    const FakeModel model = fake();
    const Token AB = model.id("AB"), CD = model.id("CD"), EF = model.id("EF"), x = 'x', Us = model.id("\nUs"),
                er = model.id("er:"), end = model.id("<|end|>");
    Output out = stream(model, {AB, CD, EF, end}, {.stop = {"BCDE"}});
    CHECK(out.pieces == Pieces{"A"});
    CHECK(out.result.finish_reason == "stop");
    CHECK(out.result.ids == std::vector<Token>{AB, CD, EF});
    Session session(model);
    CHECK_THROWS_AS((void)generate(session, prompt, {.stop = {"ok", ""}}), ArgumentError);
    CHECK_THROWS_AS((void)generate(session, prompt, {.stop = {"\x8E"}}), ArgumentError);
    out = stream(model, {AB, CD, EF, end}, {.stop = {"CDX"}});
    CHECK(out.pieces == Pieces{"AB", "CDEF"});
    out = stream(model, {x, Us, er, end}, {.stop = {"\nUser:"}});
    CHECK(out.pieces == Pieces{"x"});
    CHECK(out.result.finish_reason == "stop");
    out = stream(model, {x, Us, end}, {.stop = {"\nUser:"}});
    CHECK(out.pieces == Pieces{"x", "\nUs"});
    out = stream(model, {x, Us, er}, {.max_tokens = 2, .stop = {"\nUser:"}});
    CHECK(out.result.text == "x\nUs");
    CHECK(out.result.finish_reason == "length");
    out = stream(model, {'a', 'a', end}, {.stop = {"aa"}});
    CHECK(out.pieces.empty());
    CHECK(out.result.finish_reason == "stop");
    out = stream(model, {'a', 'b', 'c', end}, {.stop = {"abc", "b"}});
    CHECK(out.result.text == "a");
    out = stream(model, bytes("caf\u00e9!") + std::vector<Token>{end}, {.stop = {"\u00e9"}});
    CHECK(out.result.text == "caf");
}

TEST_CASE("pieces are whole characters") {
    const FakeModel model = fake();
    const Token end = model.id("<|end|>");
    Output out = stream(model, bytes("a\u00e9\U0001F680b") + std::vector<Token>{end});
    CHECK(out.pieces == Pieces{"a", "\u00e9", "\U0001F680", "b"});
    out = stream(model, bytes("a\xF0\x9F") + std::vector<Token>{end});
    CHECK(out.pieces == Pieces{"a", "\uFFFD"});
    out = stream(model, bytes("\xF0\x9F\x9A\x80"), {.max_tokens = 2});
    CHECK(out.result.text == "\uFFFD");
    CHECK(out.result.finish_reason == "length");
}

TEST_CASE("acceptance E06: generation ends at the context with reason length") {
    const FakeModel model = fake();
    model.emit(0, {'z'});
    Session session(model, {.context = 64});
    const std::vector<Token> sixty(60, 'p'), full(64, 'p'), more(65, 'p');
    const GenerateResult result = generate(session, sixty, {.max_tokens = 100}).run();
    CHECK(result.generated_tokens == 4);
    CHECK(result.finish_reason == "length");
    CHECK(generate(session, full).run().generated_tokens == 0);
    CHECK(generate(session, full).run().finish_reason == "length");
    const std::size_t evaluations = model.state().evaluations.size();
    CHECK_THROWS_WITH_AS((void)generate(session, more), "a prompt of 65 tokens does not fit the context of 64",
                         ContextFullError);
    CHECK(model.state().evaluations.size() == evaluations);
    CHECK(generate(session, full, {.max_tokens = 0}).run().finish_reason == "length");
    CHECK_THROWS_WITH_AS((void)generate(session, full, {.max_tokens = -1}), "max_tokens is -1, expected 0 or more",
                         ArgumentError);
    CHECK_THROWS_WITH_AS((void)generate(session, std::vector<Token>{}),
                         "nothing to go on from: the prompt has no tokens", ArgumentError);
}

TEST_CASE("acceptance E02: the same request five times") {
    const FakeModel model = fake();
    for (double penalty : {1.0, 1.3}) {
        Session session(model);
        std::vector<Token> first;
        for (int i = 0; i < 5; ++i) {
            const GenerateResult result =
                generate(session, prompt,
                         {.max_tokens = 20,
                          .sampling = {.repetition_penalty = penalty, .frequency_penalty = 0.5},
                          .ignore_eos = true})
                    .run();
            if (i == 0) first = result.ids;
            CHECK(result.ids == first);
            CHECK(result.evaluated_tokens == (i ? 1 : Index(prompt.size())));
            CHECK(result.reused_tokens == (i ? Index(prompt.size()) - 1 : 0));
        }
    }
}

TEST_CASE("acceptance D07: the seed in the result gives the text again") {
    const FakeModel model = fake();
    model.state().generation_config = {.do_sample = true, .temperature = 5.f};
    const auto run = [&](std::optional<std::uint64_t> seed) {
        Session session(model);
        return generate(session, prompt, {.max_tokens = 50, .sampling = {.seed = seed}, .ignore_eos = true}).run();
    };
    const GenerateResult a = run(std::nullopt), b = run(std::nullopt);
    CHECK(a.ids != b.ids);
    CHECK(run(a.seed).ids == a.ids);
    CHECK(run(42).ids == run(42).ids);
    CHECK(run(42).seed == 42);
    CHECK(run(0).ids != run(42).ids);
}

TEST_CASE("sampling options reach the sampler with all ids so far") {
    const FakeModel model = fake();
    std::vector<std::size_t> seen;
    const auto forbid = [&](std::span<f32> logits, std::span<const Token> ids) {
        seen.push_back(ids.size());
        logits['a'] = -HUGE_VALF;
        logits['b'] = 1000;
    };
    const Output out = stream(model, bytes("aaaa"), {.max_tokens = 3, .sampling = {.on_logits = forbid}});
    CHECK(out.result.text == "bbb");
    CHECK(seen == std::vector<std::size_t>{3, 4, 5, 3, 4, 5});
    CHECK_THROWS_AS(stream(model, bytes("a"), {.sampling = {.temperature = -1}}), ArgumentError);
}

TEST_CASE("acceptance B06: raw text begins with one start token if the tokenizer says so") {
    for (bool add : {true, false}) {
        support::FakeTokenizer tokenizer;
        tokenizer.add_bos = add;
        const FakeModel model = fake(tokenizer);
        Session session(model);
        generate(session, "Hi<|end|>", {.max_tokens = 1}).run();
        const std::vector<Token> text = bytes("Hi<|end|>"), start = {model.id("<|begin|>")};
        CHECK(std::vector<Token>(session.ids().begin(), session.ids().end()) == (add ? start + text : text));
    }
}

TEST_CASE("leaving the loop keeps what was produced, and another goes on") {
    const FakeModel model = fake();
    model.emit(Index(prompt.size()), bytes("abcdef") + std::vector<Token>{model.id("<|end|>")});
    Session session(model);
    auto generation = generate(session, prompt);
    CHECK(session.size() == 0);  // nothing happens before the first step
    for (std::string_view piece : generation)
        if (piece == "b") break;
    CHECK(generation.result().text == "ab");
    CHECK(generation.result().finish_reason == "cancelled");
    CHECK(generation.result().evaluated_tokens == 3);
    std::string rest;
    for (std::string_view piece : generation) rest += piece;
    CHECK(rest == "cdef");
    CHECK(generation.result().finish_reason == "stop");
    CHECK(generation.begin() == generation.end());
    CHECK(generation.run().text == "abcdef");

    SUBCASE("a session that was used in between is noticed") {
        auto other = generate(session, prompt);
        (void)other.begin();
        session.truncate(1);
        CHECK_THROWS_WITH_AS(other.run(), "the session was used while a text was being generated on it", ArgumentError);
        CHECK(other.result().text == "a");
        CHECK(generate(session, prompt).run().text == "abcdef");
    }
    SUBCASE("moved while it is suspended") {
        auto a = generate(session, prompt);
        (void)a.begin();
        auto b = std::move(a);
        CHECK(b.run().text == "abcdef");
    }
}

TEST_CASE("acceptance I07: a stop request ends it, in the prompt too, and the session goes on") {
    const FakeModel model = fake();
    model.emit(Index(prompt.size()), bytes("abcdef"));
    std::stop_source source;
    int calls = 0;
    const GenerateOptions options{.sampling = {.on_logits = [&](auto, auto) { ++calls; }},
                                  .stop_token = source.get_token()};

    SUBCASE("before the first token: no callback at all") {
        Session session(model);
        auto generation = generate(session, prompt, options);
        source.request_stop();
        for (std::string_view piece : generation) FAIL(piece);
        CHECK(calls == 0);
        CHECK(model.state().evaluations.empty());
        CHECK(generation.result().finish_reason == "cancelled");
        CHECK(generation.result().generated_tokens == 0);
    }
    SUBCASE("in the prompt") {
        const std::vector<Token> text(100, 'p');
        int evaluations = 0;
        model.state().on_evaluate = [&](auto) {
            if (++evaluations == 4) source.request_stop();
        };
        Session session(model, {.chunk = 10});
        const GenerateResult result = generate(session, text, options).run();
        CHECK(result.finish_reason == "cancelled");
        CHECK(result.prompt_tokens == 100);
        CHECK(result.evaluated_tokens == 30);
        CHECK(calls == 0);
        const GenerateResult again = generate(session, text, {.max_tokens = 1}).run();
        CHECK(again.reused_tokens == 30);
        CHECK(again.finish_reason == "length");
    }
    SUBCASE("between tokens") {
        Session session(model);
        auto generation = generate(session, prompt, options);
        std::string text;
        for (std::string_view piece : generation) {
            text += piece;
            if (text == "abc") source.request_stop();
        }
        CHECK(text == "abc");
        CHECK(generation.result().finish_reason == "cancelled");
        CHECK(generation.result().generated_tokens == 3);
        CHECK(generate(session, prompt, {.max_tokens = 5}).run().text == "abcde");
    }
    SUBCASE("held back text is shown at the end") {
        GenerateOptions held = options;
        held.stop = {"bcX"};
        model.state().on_evaluate = [&, n = 0](auto) mutable {
            if (++n == 3) source.request_stop();
        };
        Session session(model);
        CHECK(generate(session, prompt, held).run().text == "ab");
    }
}

TEST_CASE("an exception ends it, keeps what was produced, and leaves the session usable") {
    const FakeModel model = fake();
    model.emit(Index(prompt.size()), bytes("abcdef"));
    Session session(model);
    int calls = 0;
    auto generation = generate(session, prompt, {.sampling = {.on_logits = [&](auto, auto) {
                                                     if (++calls == 3) throw std::runtime_error("mine");
                                                 }}});
    CHECK_THROWS_WITH_AS(generation.run(), "mine", std::runtime_error);
    CHECK(generation.result().text == "ab");
    CHECK(generation.result().finish_reason == "cancelled");
    CHECK(generation.run().text == "ab");
    CHECK(generate(session, prompt, {.max_tokens = 6}).run().text == "abcdef");
    CHECK_THROWS_AS(
        generate(session, prompt, {.sampling = {.on_logits = [](auto, auto) { throw CancelledError("mine"); }}}).run(),
        CancelledError);
    CHECK(generate(session, prompt, {.max_tokens = 1}).run().text == "a");

    SUBCASE("acceptance D06: logits that are no numbers, with their position") {
        model.state().logits = [](auto, std::span<f32> logits) { logits[7] = std::numeric_limits<f32>::quiet_NaN(); };
        Session other(model);
        CHECK_THROWS_WITH_AS(
            generate(other, prompt).run(),
            message("logits at position 3: 1 of ", model.config().vocab_size, " are NaN or +inf").c_str(),
            NumericError);
        model.emit(Index(prompt.size()), bytes("ok"));
        other.truncate(0);
        CHECK(generate(other, prompt, {.max_tokens = 2}).run().text == "ok");
    }
}

TEST_CASE("the host's floating-point mode holds in callbacks and while a range is suspended") {
    const FakeModel model = fake();
    model.emit(Index(prompt.size()), bytes("abcdef"));
    Session session(model);
    const std::uint64_t mode = cpu::FloatMode::read();
    auto generation = generate(
        session, prompt, {.max_tokens = 4, .sampling = {.temperature = 0.5, .top_p = 0.9, .on_logits = [&](auto, auto) {
                                                            CHECK(cpu::FloatMode::read() == mode);
                                                        }}});
    for (std::string_view piece : generation) {
        (void)piece;
        CHECK(cpu::FloatMode::read() == mode);
    }
    CHECK(cpu::FloatMode::read() == mode);
}

TEST_CASE("a model without a tokenizer generates ids") {
    const FakeModel model;
    model.state().end_ids = {9};
    model.emit(3, {5, 6, 7, 9});
    Session session(model);
    auto generation = generate(session, prompt);
    CHECK(generation.begin() == generation.end());
    CHECK(generation.result().ids == std::vector<Token>{5, 6, 7, 9});
    CHECK(generation.result().finish_reason == "stop");
    CHECK_THROWS_WITH_AS((void)generate(session, prompt, {.stop = {"x"}}), "stop strings need a tokenizer",
                         ArgumentError);
}
