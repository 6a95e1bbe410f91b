#include <doctest/doctest.h>
#include "chat_model.hpp"
#include <set>

using support::run;

namespace {

const std::vector<std::string> programs{"l3-generate", "l3-chat", "l3-tokenize", "l3-logits", "l3-info"};

/// The options that --help lists, by their long names.
std::set<std::string> options_of(const std::string& help) {
    std::set<std::string> names;
    std::istringstream in(help);
    for (std::string line; std::getline(in, line);) {
        const std::size_t at = line.find_first_not_of(' ');
        if (at == line.npos || at == 0 || line[at] != '-') continue;
        std::string name = line.substr(at, line.find(' ', at) - at);
        if (name == "-n,--max-tokens" || name.find(",--") != name.npos) name = name.substr(name.find("--"));
        if (name != "--help") names.insert(name);
    }
    return names;
}

/// The options among arguments, by their long names.
std::set<std::string> options_in(const std::vector<std::string>& arguments) {
    const std::map<std::string, std::string> longer{{"-m", "--model"}, {"-t", "--threads"}, {"-c", "--context"},
                                                    {"-p", "--prompt"}, {"-f", "--file"}, {"-n", "--max-tokens"}};
    std::set<std::string> names;
    for (const std::string& a : arguments)
        if (a.starts_with("-")) names.insert(longer.contains(a) ? longer.at(a) : a);
    return names;
}

}  // namespace

TEST_CASE("acceptance K07: an option that is not known ends the program and is named") {
    for (const std::string& name : programs) {
        CAPTURE(name);
        const auto r = run(name, {"-m", "x", "--promptt", "x"});
        CHECK(r.status == 2);
        CHECK(r.out == "");
        CHECK(r.err.starts_with(name + ": error: "));
        CHECK(r.err.find("--promptt") != std::string::npos);
        CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
        CHECK(run(name, {"--help"}).status == 0);
        CHECK(run(name, {"--help"}).err == "");
    }
}

TEST_CASE("acceptance K07: a value that is none is an error that names the option") {
    const support::ChatModel model;
    const auto error = [&](const std::string& option, const std::string& value, const std::string& long_name) {
        CAPTURE(option);
        CAPTURE(value);
        const auto r = run("l3-generate", {"-m", model.path(), "-p", "x", option, value});
        CHECK(r.status == 2);
        CHECK(r.out == "");
        CHECK(r.err.find(long_name) != std::string::npos);
    };
    for (const char* value : {"many", "0", "-1", "1.5", "", "99999999999"}) error("-t", value, "--threads");
    for (const char* value : {"0", "-5", "8k"}) error("-c", value, "--context");
    for (const char* value : {"-1", "three"}) error("-n", value, "--max-tokens");
    for (const char* value : {"-1", "hot", "nan", "inf", ""}) error("--temperature", value, "--temperature");
    for (const char* value : {"1.5", "-0.1", "x"}) error("--top-p", value, "--top-p");
    for (const char* value : {"2", "x"}) error("--min-p", value, "--min-p");
    for (const char* value : {"0.5", "-1"}) error("--top-k", value, "--top-k");
    for (const char* value : {"0", "-1"}) error("--repetition-penalty", value, "--repetition-penalty");
    for (const char* value : {"-1", "18446744073709551616", "x"}) error("--seed", value, "--seed");
    for (const char* option : {"--model", "--tokenizer", "--stats", "--file"}) error(option, "", option);
    error("--dtype", "f16", "--dtype");
    error("--device", "tpu", "--device");
    CHECK(run("l3-generate", {}).status == 2);
    CHECK(run("l3-generate", {}).err == "l3-generate: error: --model is required\n");
    CHECK(run("l3-tokenize", {}).err == "l3-tokenize: error: --tokenizer or --model is required\n");
    CHECK(run("l3-generate", {"-m", model.path(), "-p", "x", "-f", "y"}).status == 2);
    CHECK(run("l3-generate", {"-m", model.path(), "-p", "x", "--ids", "1"}).status == 2);
    for (const char* option : {"--out", "--ids-file"})
        CHECK(run("l3-logits", {"-m", model.path(), "--out", "x", "--ids-file", "x", option, ""}).status == 2);
    CHECK(run("l3-generate", {"-m", model.path(), "-n", "1", "-p", "x", "--max-tokens", "2"}).err ==
          "l3-generate: error: --max-tokens is given more than once\n");
    CHECK(run("l3-logits", {"-m", model.path(), "--out", "x", "--ids", "1", "--ids", "2"}).err ==
          "l3-logits: error: --ids is given more than once\n");
}

TEST_CASE("acceptance K07: values are taken as they are") {
    const support::ChatModel model;
    for (const char* text : {"{}", "[1,2]", "-x", "--", "a=b", "%%", " x "}) {
        CAPTURE(text);
        const auto r = run("l3-generate", {"-m", model.path(), std::string("--prompt=") + text, "-n", "0", "--echo"});
        CHECK(r.status == 0);
        CHECK(r.out == text);
    }
    CHECK(run("l3-generate", {"-m", model.path(), "-p", "x", "-n", "010", "--print-ids", "--ignore-eos"}).out.size() > 0);
    std::istringstream in(run("l3-generate", {"-m", model.path(), "-p", "x", "-n", "010", "--print-ids", "--ignore-eos"}).out);
    int count = 0;
    for (int id; in >> id;) ++count;
    CHECK(count == 10);
    CHECK(run("l3-generate", {"-m", model.path(), "-p", "x", "-n", "3", "--print-ids"}).status == 0);
}

TEST_CASE("acceptance K07: every option of --help does something") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const auto path = [&](const char* name) { return (folder / name).string(); };
    support::write_file(folder / "text", "text");
    support::write_file(folder / "ids", "1 2");
    const std::string tokenizer = model.file("tokenizer.json").string();
    const std::vector<std::string> common{"-m", model.path(), "--tokenizer", tokenizer, "--dtype", "f32", "--device", "auto",
                                          "-t", "2", "-c", "100", "-v"};
    const std::vector<std::string> sampling{"-n", "3", "--temperature", "0.5", "--top-k", "9", "--top-p", "0.9", "--min-p", "0.1",
                                            "--repetition-penalty", "1.1", "--seed", "5", "--stop", "x", "--stats", path("stats")};
    const auto with = [](std::vector<std::string> a, const std::vector<std::string>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    struct Call {
        std::string program;
        std::vector<std::string> arguments;
    };
    const std::vector<std::string> generate = with(common, sampling), logits = with(common, {"--out", path("out")});
    const std::vector<Call> calls{
        {"l3-generate", with(generate, {"-p", "a", "--ignore-eos", "--print-ids", "--echo"})},
        {"l3-generate", with(generate, {"-f", path("text")})},
        {"l3-generate", with(generate, {"--ids", "1"})},
        {"l3-chat", with(generate, {"--system", "s", "--jsonl"})},
        {"l3-tokenize", {"-m", model.path(), "--tokenizer", tokenizer, "--device", "cpu", "--special", "--bos", "-v"}},
        {"l3-tokenize", {"-m", model.path(), "--jsonl", "--decode"}},
        {"l3-logits", with(logits, {"--ids", "1 2 3", "--chunk", "2", "--decode-from", "2", "--warm-ids", "1"})},
        {"l3-logits", with(logits, {"--ids-file", path("ids")})},
        {"l3-logits", with(logits, {"--prompt", "a"})},
        {"l3-info", {"-m", model.path(), "--tokenizer", tokenizer, "--dtype", "bf16", "--device", "cpu", "-c", "9", "--json"}},
        {"l3-info", {"-m", model.path(), "-v"}},
    };
    std::map<std::string, std::set<std::string>> tried;
    for (const Call& call : calls) {
        CAPTURE(call.program);
        const auto r = run(call.program, call.arguments);
        CHECK_MESSAGE(r.status == 0, r.err);
        tried[call.program].merge(options_in(call.arguments));
    }
    for (const std::string& name : programs) {
        CAPTURE(name);
        CHECK(tried[name] == options_of(run(name, {"--help"}).out));
    }
}

TEST_CASE("programs: an error is one line on standard error that names what it is about") {
    const support::ChatModel model;
    const auto error = [](const std::string& name, const std::vector<std::string>& arguments, const std::string& text) {
        CAPTURE(name);
        const auto r = run(name, arguments);
        CHECK(r.status == 1);
        CHECK(r.out == "");
        CHECK(r.err.starts_with(name + ": error: "));
        CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
        CHECK_MESSAGE(r.err.find(text) != std::string::npos, r.err);
    };
    const support::TemporaryFolder folder;
    const std::vector<std::string> out{"--out", (folder / "out").string(), "--ids", "1"};
    for (const std::string& name : programs) {
        for (const char* device : {"cpu", "cuda"}) {
            std::vector<std::string> arguments{"-m", "no/such/model.gguf", "--device", device};
            if (name == "l3-logits") arguments.insert(arguments.end(), out.begin(), out.end());
            error(name, arguments, device == std::string("cpu") ? "no/such/model.gguf" : "--device cuda: this build has no CUDA");
        }
    }
    error("l3-generate", {"-m", model.path(), "-f", "no/such/file"}, "no/such/file: cannot open");
    error("l3-tokenize", {"--tokenizer", "no/such/tokenizer.json"}, "no/such/tokenizer.json");
    error("l3-generate", {"-m", model.path(), "--tokenizer", "no/such/tokenizer.json", "-p", "x"}, "no/such/tokenizer.json");

    // Paths with spaces are paths.
    std::filesystem::create_directory_symlink(model.path(), folder / "a model");
    CHECK(run("l3-generate", {"-m", (folder / "a model").string(), "-p", "x", "-n", "1"}).status == 0);
}

TEST_CASE("programs: text that cannot be written is an error") {
    const support::ChatModel model;
    if (!std::filesystem::exists("/dev/full")) return;
    const std::string command = "'" + support::program("l3-generate").string() + "' -m '" + model.path() +
                                "' -p x -n 5 > /dev/full 2> /dev/null";
    const int status = std::system(command.c_str());
    CHECK(WEXITSTATUS(status) == 1);
}

TEST_CASE("programs: --help that cannot be written is an error") {
    if (!std::filesystem::exists("/dev/full")) return;
    for (const std::string& name : programs) {
        const auto r = support::run_shell(support::in_shell(name) + " --help > /dev/full");
        CHECK(r.status == 1);
        CHECK(r.err == name + ": error: cannot write to standard output\n");
        CHECK(support::run_shell(support::in_shell(name) + " --help >&-").status == 1);
    }
}

TEST_CASE("programs: standard input that cannot be read is an error, not empty") {
    const support::ChatModel model;
    for (const std::string name : {"l3-generate", "l3-chat", "l3-tokenize"})
        for (const char* input : {" < /", " <&-", " --jsonl < /"}) {
            if (name == "l3-generate" && input[1] == '-') continue;
            CAPTURE(name);
            CAPTURE(input);
            const auto r = support::run_shell(support::in_shell(name) + " -m '" + model.path() + "'" + input);
            CHECK(r.status == 1);
            CHECK(r.out == "");
            CHECK(r.err == name + ": error: standard input: cannot read\n");
        }
}

TEST_CASE("programs: an error is a line that a terminal can show, however long what it is about") {
    const support::TemporaryFolder folder;
    const std::string name = "a\nb\x1B[31m\x7F";
    const auto r = run("l3-info", {"-m", (folder / name).string()});
    CHECK(r.err == "l3-info: error: " + (folder / "a b?[31m?").string() + ": no such file or directory\n");
    const auto longer = run("l3-info", {"-m", std::string(100'000, 'x')});
    CHECK(longer.status == 1);
    CHECK(longer.err.size() < 1100);
    CHECK(longer.err.starts_with("l3-info: error: xxx"));
}
