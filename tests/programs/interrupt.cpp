#include <doctest/doctest.h>
#include "chat_model.hpp"

TEST_CASE("acceptance I07: an interrupt stops the text, and the program says so") {
    const support::ChatModel model(200000);
    const support::TemporaryFolder folder;
    const std::string file = (folder / "stats").string();
    support::Process process("l3-generate", {"-m", model.path(), "-p", "A", "--ignore-eos", "--print-ids", "-c", "200000", "--stats", file});
    process.close_input();
    const std::string first = process.read_to(' ');
    process.send(SIGINT);
    const auto r = process.wait();
    CHECK(r.status == 0);
    CHECK(r.err == "");
    CHECK(r.out.ends_with("\n"));
    const auto s = nlohmann::json::parse(support::read_file(file));
    CHECK(s["finish_reason"] == "cancelled");
    std::istringstream in(first + r.out);
    int ids = 0;
    for (int id; in >> id;) ++ids;
    CHECK(s["generated_tokens"] == ids);
}

TEST_CASE("acceptance I07: an interrupt stops the prompt phase, too") {
    const support::ChatModel model(200000);
    const support::TemporaryFolder folder;
    const std::string file = (folder / "stats").string();
    support::write_file(folder / "prompt", std::string(190000, 'x'));
    support::Process process("l3-generate", {"-m", model.path(), "-f", (folder / "prompt").string(), "-c", "200000", "--echo", "--stats", file});
    process.close_input();
    (void)process.read_to('x');  // the model is there, and its work begins
    process.send(SIGINT);
    const auto r = process.wait();
    CHECK(r.status == 0);
    const auto s = nlohmann::json::parse(support::read_file(file));
    CHECK(s["finish_reason"] == "cancelled");
    CHECK(s["generated_tokens"] == 0);
}

TEST_CASE("acceptance I07: in a chat an interrupt stops the reply first, the program second") {
    const support::ChatModel model(200000);
    const support::TemporaryFolder folder;
    const std::filesystem::path stats = folder / "stats";
    const std::vector<std::string> arguments = {"-m", model.path(), "-c", "200000", "-n", "6000"};
    const auto with = [&](std::vector<std::string> more) {
        more.insert(more.begin(), arguments.begin(), arguments.end());
        return more;
    };
    // A message whose reply is longer than what the held pipe takes: it still goes on when the interrupt comes.
    std::string message;
    for (char c = 'A'; message.empty() && c <= 'Z'; ++c) {
        const std::string candidate = std::string(3, c) + "\n";
        const auto row = nlohmann::json::parse(support::run("l3-chat", with({"--jsonl"}), candidate).out);
        if (row["finish_reason"] == "length" && row["reply"].get<std::string>().size() > 8192) message = candidate;
    }
    REQUIRE(!message.empty());

    support::Process process("l3-chat", with({"--stats", stats.string()}));
    process.hold_output();
    const auto interrupt_reply = [&](std::size_t n) {  // the n-th, once its first letter is there
        REQUIRE(process.read(1).size() == 1);
        process.send(SIGINT);
        std::string rest;
        std::vector<nlohmann::json> ended;
        for (int wait_ms = 0; ended.size() < n && wait_ms < 60000; ++wait_ms) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            rest += process.read_ready();
            const std::string lines = support::read_file(stats);
            ended = support::json_lines(lines.substr(0, lines.rfind('\n') + 1));
        }
        rest += process.read_ready();
        REQUIRE(ended.size() == n);
        CHECK(ended.back()["finish_reason"] == "cancelled");
        CHECK(rest.ends_with('\n'));
    };
    process.write(message);
    interrupt_reply(1);
    process.write("/undo\n" + message);  // the conversation goes on
    interrupt_reply(2);
    process.send(SIGINT);
    const auto r = process.wait();
    CHECK(r.status == -SIGINT);
    CHECK(r.out == "");
    CHECK(r.err == "");
}
