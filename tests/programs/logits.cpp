#include <doctest/doctest.h>
#include "../support/read_safetensors.hpp"
#include "chat_model.hpp"

using support::run;

namespace {

struct Logits {
    std::vector<std::int32_t> ids, first_position;
    support::ReadTensor logits;
};

/// What l3-logits writes with these options.
Logits logits(const support::ChatModel& model, const std::string& ids, std::vector<std::string> options) {
    const support::TemporaryFolder folder;
    const auto out = folder / "out.safetensors";
    options.insert(options.end(), {"-m", model.path(), "--ids", ids, "--out", out.string()});
    const auto r = run("l3-logits", options);
    CHECK(r.status == 0);
    CHECK(r.out + r.err == "");
    auto tensors = support::read_safetensors(out);
    REQUIRE(tensors.size() == 3);
    return {support::ids_of(tensors["ids"]), support::ids_of(tensors["first_position"]), tensors["logits"]};
}

}  // namespace

TEST_CASE("l3-logits: those of the reference, in a safetensors file") {
    const support::ChatModel model;
    const auto ids = support::random_ids(40, model.vocab_size());
    const Logits got = logits(model, support::words(ids), {"--dtype", "f32"});
    CHECK(got.ids == ids);
    CHECK(got.first_position == std::vector<std::int32_t>{0});
    CHECK(got.logits.type == "F32");
    CHECK(got.logits.shape == std::vector<std::int64_t>{40, model.vocab_size()});

    const auto want = model.model().logits(ids);
    const auto values = support::decode("F32", got.logits.data);
    double worst = 0, largest = 0;
    for (std::int64_t i = 0; i < 40; ++i)
        for (std::int64_t j = 0; j < model.vocab_size(); ++j) {
            largest = std::max(largest, std::abs(want(i, j)));
            worst = std::max(worst, std::abs(want(i, j) - double(values[std::size_t(i * model.vocab_size() + j)])));
        }
    CHECK(worst <= 1e-5 * largest);
}

TEST_CASE("l3-logits: chunks, threads, decoding and a warm start give the same bits") {
    const support::ChatModel model;
    const auto ids = support::random_ids(40, model.vocab_size());
    auto warm = ids;
    warm[25] = (warm[25] + 1) % model.vocab_size();
    const std::string base = logits(model, support::words(ids), {}).logits.data;
    const auto row = std::size_t(model.vocab_size()) * 4;
    CHECK(logits(model, support::words(ids), {"--chunk", "7", "--threads", "3"}).logits.data == base);
    CHECK(logits(model, support::words(ids), {"--decode-from", "11"}).logits.data == base);
    CHECK(logits(model, support::words(ids), {"--decode-from", "0", "-t", "1"}).logits.data == base);
    const Logits reused = logits(model, support::words(ids), {"--warm-ids", support::words(warm), "--chunk", "4"});
    CHECK(reused.first_position == std::vector<std::int32_t>{25});
    CHECK(reused.logits.data == base.substr(25 * row));
    const Logits again = logits(model, support::words(ids), {"--warm-ids", support::words(ids)});  // the last one, for its logits
    CHECK(again.first_position == std::vector<std::int32_t>{39});
    CHECK(again.logits.data == base.substr(39 * row));
}

TEST_CASE("l3-logits: ids from a file or a text") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    support::write_file(folder / "ids", "65\n66  67\n");
    const auto ids_of = [&](const char* option, const std::string& value) {
        const auto out = folder / "out";
        CHECK(run("l3-logits", {"-m", model.path(), option, value, "--out", out.string()}).status == 0);
        return support::ids_of(support::read_safetensors(out)["ids"]);
    };
    CHECK(ids_of("--ids-file", (folder / "ids").string()) == std::vector<std::int32_t>{65, 66, 67});
    CHECK(ids_of("--prompt", "AB") == std::vector<std::int32_t>{model.id_of("<|begin|>"), 65, 66});
}

TEST_CASE("l3-logits: errors leave no file behind") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const std::string out = (folder / "out").string();
    const auto error = [&](std::vector<std::string> options, int status, const std::string& text) {
        options.insert(options.end(), {"-m", model.path(), "--out", out});
        const auto r = run("l3-logits", options);
        CHECK(r.status == status);
        CHECK_MESSAGE(r.err.find(text) != std::string::npos, r.err);
        CHECK(r.err.starts_with("l3-logits: error: "));
        CHECK(!std::filesystem::exists(out));
    };
    error({"--ids", "1 2 300"}, 1, "300");
    error({"--ids", "1 2 3 4 5 6 7", "-c", "6"}, 1, "7 tokens do not fit the context of 6");
    error({"--ids", "1 2 3", "--warm-ids", "1 2", "-c", "2"}, 1, "3 tokens do not fit the context of 2");
    error({"--ids", ""}, 1, "no token ids");
    error({"--ids", "1 two"}, 2, "--ids: 'two' is no token id");
    error({"--ids-file", (folder / "none").string()}, 1, "none: cannot open");
    error({}, 2, "--ids");
    error({"--ids", "1", "--prompt", "x"}, 2, "");
    CHECK(support::names_in(folder.path()).empty());
}

TEST_CASE("l3-logits: a file that cannot be written is an error before the model is opened") {
    const support::TemporaryFolder folder;
    std::filesystem::create_symlink(folder / "loop", folder / "loop");
    const auto error = [&](const std::filesystem::path& out, const std::string& text) {
        const auto r = run("l3-logits", {"-m", "no/such/model", "--ids", "1", "--out", out.string()});
        CHECK(r.status == 1);
        CHECK_MESSAGE(r.err.starts_with("l3-logits: error: " + out.string() + ": cannot write: " + text), r.err);
    };
    error(folder / "no/out", "its folder " + (folder / "no").string() + ": No such file or directory");
    error(folder.path(), "it is a directory");
    error(folder / "loop", std::generic_category().message(ELOOP));
}

TEST_CASE("l3-logits: what is read is never written, by whatever name") {
    const support::TemporaryFolder folder;
    std::filesystem::create_directory(folder / "hf");
    support::TinyModel model;
    model.shards = 2;
    model.write_directory(folder / "hf");
    model.write_gguf(folder / "m.gguf");
    support::write_file(folder / "ids", "1 2");
    support::write_file(folder / "hf/tokenizer.json", "{}");
    std::filesystem::create_hard_link(folder / "m.gguf", folder / "hard");
    std::filesystem::create_symlink("m.gguf", folder / "soft");
    const auto refuses = [&](const char* from, const std::string& out) {
        CAPTURE(out);
        const std::string before = support::read_file(folder / out);
        const auto r = run("l3-logits", {"-m", (folder / from).string(), "--ids-file", (folder / "ids").string(), "--out",
                                         (folder / out).string()});
        CHECK(r.status == 1);
        CHECK_MESSAGE(r.err.find(out + ": cannot write: it is ") != std::string::npos, r.err);
        CHECK(r.err.ends_with(", which is read\n"));
        CHECK(support::read_file(folder / out) == before);
    };
    for (const char* out : {"m.gguf", "hard", "soft", "ids", "hf/../m.gguf"}) refuses("m.gguf", out);
    for (const std::string& name : support::names_in(folder / "hf")) refuses("hf", "hf/" + name);
    CHECK(support::names_in(folder / "hf").size() == 5);  // config, index, tokenizer, two shards
    CHECK(run("l3-logits", {"-m", (folder / "hf").string(), "--ids", "1", "--out", (folder / "hf/out").string()}).status == 0);
}

TEST_CASE("l3-logits: a file that was there stays until its successor is whole") {
    const support::ChatModel model;
    const support::TemporaryFolder folder;
    const auto out = folder / "out";
    support::write_file(out, "precious");
    std::filesystem::permissions(out, std::filesystem::perms{0640});
    std::filesystem::create_symlink("out", folder / "link");
    const std::string command = support::in_shell("l3-logits") + " -m '" + model.path() + "' --ids '1 2 3 4 5 6' --out '" +
                                out.string() + "'";
    const auto full = support::run_shell("trap '' XFSZ; ulimit -f 1; " + command);
    CHECK(full.status == 1);
    CHECK(full.err == "l3-logits: error: " + out.string() + ": cannot write: " + std::generic_category().message(EFBIG) + "\n");
    CHECK(support::names_in(folder.path()) == std::vector<std::string>{"link", "out"});
    CHECK(run("l3-logits", {"-m", model.path(), "--ids", "1 300", "--out", out.string()}).status == 1);
    CHECK(support::run_shell("ulimit -f 1; " + command).status != 0);  // ended by a signal
    CHECK(support::read_file(out) == "precious");

    CHECK(run("l3-logits", {"-m", model.path(), "--ids", "1 2", "--out", (folder / "link").string()}).status == 0);
    CHECK(support::read_safetensors(out).size() == 3);
    CHECK(std::filesystem::is_symlink(folder / "link"));
    CHECK(std::filesystem::status(out).permissions() == std::filesystem::perms{0640});

    const auto bytes = run("l3-logits", {"-m", model.path(), "--ids", "1 2", "--out", "/dev/stdout"});
    CHECK(bytes.status == 0);
    CHECK(bytes.out == support::read_file(out));
    CHECK(support::run_shell(support::in_shell("l3-logits") + " -m '" + model.path() + "' --ids '1 2' --out /dev/stdout > '" +
                             (folder / "redirected").string() + "'").status == 0);
    CHECK(support::read_file(folder / "redirected") == bytes.out);
    if (!std::filesystem::exists("/dev/full")) return;
    CHECK(run("l3-logits", {"-m", model.path(), "--ids", "1 2", "--out", "/dev/full"}).err ==
          "l3-logits: error: /dev/full: cannot write: " + std::generic_category().message(ENOSPC) + "\n");
}
