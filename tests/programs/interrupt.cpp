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
    std::string message;  // whose reply goes on for long
    for (char c = 'A'; message.empty() && c <= 'Z'; ++c) {
        const auto r = support::run("l3-chat", {"-m", model.path(), "-c", "200000", "-n", "3000", "--jsonl"}, std::string(3, c) + "\n");
        if (nlohmann::json::parse(r.out)["finish_reason"] == "length") message = std::string(3, c) + "\n";
    }
    REQUIRE(!message.empty());

    support::Process process("l3-chat", {"-m", model.path(), "-c", "200000"});
    process.write(message);
    (void)process.read(1);
    process.send(SIGINT);
    CHECK(process.read_to('\n').ends_with('\n'));
    process.write("/undo\n" + message);  // the conversation goes on
    (void)process.read(1);
    process.send(SIGINT);
    CHECK(process.read_to('\n').ends_with('\n'));
    process.send(SIGINT);
    const auto r = process.wait();
    CHECK(r.status == -SIGINT);
    CHECK(r.out == "");
    CHECK(r.err == "");
}
