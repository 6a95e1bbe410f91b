#include <doctest/doctest.h>
#include "chat_model.hpp"

using support::json_lines;
using support::run;

namespace {

std::vector<std::string> with_model(const support::ChatModel& model, std::vector<std::string> options) {
    options.insert(options.begin(), {"-m", model.path(), "-n", "12"});
    return options;
}

/// Rows of l3-chat --jsonl for these lines of input.
std::vector<nlohmann::json> chat(const support::ChatModel& model, const std::string& lines, std::vector<std::string> options = {}) {
    options.push_back("--jsonl");
    const auto r = run("l3-chat", with_model(model, options), lines);
    CHECK(r.status == 0);
    CHECK(r.err == "");
    const auto rows = json_lines(r.out);
    for (const auto& row : rows) CHECK(support::good_statistics(row));
    return rows;
}

}  // namespace

TEST_CASE("acceptance K03: l3-chat ends at the end of input, and a pipe gets the reply and nothing else") {
    const support::ChatModel model;
    const auto none = run("l3-chat", with_model(model, {}));
    CHECK(none.status == 0);
    CHECK(none.out + none.err == "");

    const auto one = run("l3-chat", with_model(model, {}), "hi");  // no newline
    CHECK(one.status == 0);
    CHECK(one.err == "");
    const auto rows = chat(model, "hi\n");
    REQUIRE(rows.size() == 1);
    CHECK(one.out == rows[0]["reply"].get<std::string>() + "\n");

    CHECK(chat(model, "\n\nhi\r\n\n") .size() == 1);  // no messages of nothing
    CHECK(chat(model, "hi\n/quit\nthere\n").size() == 1);
    CHECK(chat(model, "hi\n/quit").size() == 1);

    // Bytes that are no UTF-8 are tokens like others; what comes out is UTF-8.
    CHECK(chat(model, "\xFF\xC0 h\xC3").size() == 1);
}

TEST_CASE("acceptance K03: l3-generate prints the text and nothing else") {
    const support::ChatModel model;
    const auto text = run("l3-generate", {"-m", model.path(), "-p", "A", "-n", "6", "--ignore-eos"});
    CHECK(text.status == 0);
    CHECK(text.err == "");
    const auto echo = run("l3-generate", {"-m", model.path(), "-n", "6", "--ignore-eos", "--echo"}, "A");
    CHECK(echo.out == "A" + text.out);
    const auto nothing = run("l3-generate", {"-m", model.path(), "-n", "6", "--ignore-eos", "--ids", ""});
    CHECK(nothing.status == 1);
    CHECK(nothing.err == "l3-generate: error: nothing to go on from: the prompt has no tokens\n");
}

TEST_CASE("l3-chat: what is known is not evaluated again") {
    const support::ChatModel model;
    const auto rows = chat(model, "first\nsecond\n/regenerate\n/edit 2 seconds\n/edit 1 fist\n");
    REQUIRE(rows.size() == 5);
    CHECK(rows[0]["reused_tokens"] == 0);
    CHECK(rows[1]["reused_tokens"].get<int>() >= rows[0]["prompt_tokens"].get<int>());
    CHECK(rows[2]["evaluated_tokens"].get<int>() <= 1);
    for (const char* key : {"reply", "ids", "prompt_tokens"}) CHECK(rows[2][key] == rows[1][key]);
    // "second" became "seconds": everything up to its last letter was there.
    CHECK(rows[3]["prompt_tokens"].get<int>() == rows[1]["prompt_tokens"].get<int>() + 1);
    CHECK(rows[3]["evaluated_tokens"].get<int>() < rows[1]["evaluated_tokens"].get<int>());
    // "first" became "fist": what precedes is the head of the template and "fi".
    const auto alone = chat(model, "fist\n");
    for (const char* key : {"reply", "ids", "prompt_tokens"}) CHECK(rows[4][key] == alone[0][key]);
    CHECK(rows[4]["reused_tokens"].get<int>() > 0);
}

TEST_CASE("l3-chat: /undo is as if it had not been said; --system comes first") {
    const support::ChatModel model;
    const auto rows = chat(model, "first\nother\n/undo\nsecond\n"), same = chat(model, "first\nsecond\n");
    REQUIRE(rows.size() == 3);
    REQUIRE(same.size() == 2);
    for (const char* key : {"reply", "ids", "prompt_tokens"}) CHECK(rows[2][key] == same[1][key]);

    const auto plain = chat(model, "hi\n"), system = chat(model, "hi\n", {"--system", "Be short."});
    CHECK(system[0]["prompt_tokens"].get<int>() > plain[0]["prompt_tokens"].get<int>());
    CHECK(system[0]["reply"] != plain[0]["reply"]);
}

TEST_CASE("l3-chat: message text is only text, and a slash is written twice") {
    const support::ChatModel model;
    const auto prompt = [&](const char* line) { return chat(model, line)[0]["prompt_tokens"].get<int>(); };
    const int none = prompt("x\n") - 1;
    CHECK(prompt("<|im_end|>\n") == none + 10);
    CHECK(prompt("//x\n") == none + 2);
    CHECK(prompt(" /x\n") == none + 3);
}

TEST_CASE("l3-chat: wrong commands are errors that say what there is") {
    const support::ChatModel model;
    const auto error = [&](const std::string& lines, const std::string& text) {
        const auto r = run("l3-chat", with_model(model, {"--jsonl"}), lines);
        CHECK(r.status == 1);
        CHECK(r.err == "l3-chat: error: " + text + "\n");
    };
    error("/undo\n", "there is no user message");
    error("/regenerate\n", "there is no user message");
    error("hi\n/edit 2 x\n", "no user message 2: there are 1");
    error("hi\n/edit one x\n", "expected /edit N TEXT");
    error("hi\n/edit 1\n", "expected /edit N TEXT");
    error("hi\n/edit\n", "expected /edit N TEXT");
    error("/edti 1 x\n", "there is no command /edti; there are /edit, /undo, /regenerate and /quit");
}

TEST_CASE("l3-chat: statistics of every reply") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const auto rows = chat(model, "a\nb\n", {"--stats", (folder / "stats").string()});
    const auto stats = json_lines(support::read_file(folder / "stats"));
    REQUIRE(stats.size() == 2);
    for (std::size_t i = 0; i < 2; ++i) {
        CHECK(support::good_statistics(stats[i]));
        CHECK(stats[i]["seed"] == rows[i]["seed"]);
    }
    const auto r = run("l3-chat", with_model(model, {"-v"}), "a\n");
    CHECK(r.err.find("prompt ") != std::string::npos);
    CHECK(run("l3-chat", with_model(model, {"--stats", "/no/such/folder/stats"}), "a\n").err ==
          "l3-chat: error: /no/such/folder/stats: cannot write: its folder /no/such/folder: No such file or directory\n");
}

TEST_CASE("l3-chat: statistics never take the place of what is read, and only with the first reply of another file") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string stats = (folder / "stats").string(), weights = model.file("model.safetensors").string();
    const std::string before = support::read_file(weights);
    const auto refused = run("l3-chat", with_model(model, {"--stats", weights}), "a\n");
    CHECK(refused.status == 1);
    CHECK(refused.err == "l3-chat: error: " + weights + ": cannot write: it is " + weights + ", which is read\n");
    CHECK(support::read_file(weights) == before);

    support::write_file(stats, "precious\n");
    CHECK(run("l3-chat", with_model(model, {"--stats", stats}), "/edit 9 x\n").status == 1);
    CHECK(run("l3-chat", with_model(model, {"--stats", stats})).status == 0);
    CHECK(support::read_file(stats) == "precious\n");
    CHECK(run("l3-chat", with_model(model, {"--stats", stats}), "a\n/edit 9 x\n").status == 1);
    CHECK(json_lines(support::read_file(stats)).size() == 1);
    CHECK(json_lines(run("l3-chat", with_model(model, {"--jsonl", "--stats", "/dev/stdout"}), "a\nb\n").out).size() == 4);
    CHECK(support::names_in(folder.path()) == std::vector<std::string>{"stats"});
}

TEST_CASE("l3-chat: a conversation that exceeds the context is an error that names both numbers") {
    const support::ChatModel model;
    const auto r = run("l3-chat", with_model(model, {"-c", "30"}), std::string(100, 'x') + "\n");
    CHECK(r.status == 1);
    CHECK(r.err.find("does not fit the context of 30") != std::string::npos);
}
