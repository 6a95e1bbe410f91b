// The library against golden logits made by others: NumPy, transformers, llama2.c. Where these files are not at hand,
// the golden values of NumPy still are.
#include <doctest/doctest.h>
#include <algorithm>
#include "support/evaluate.hpp"

using namespace l3;
using support::Golden;
using support::TemporaryFolder;

TEST_CASE_TEMPLATE("golden: NumPy's logits of tiny models", T, f32, bf16) {
    for (const Golden& golden : support::goldens()) {
        CAPTURE(golden.model.name);
        const TemporaryFolder folder;
        golden.model.write_directory(folder / "hf");
        const std::vector<f32> logits = support::cold(support::open<T>(folder / "hf"), golden.ids);
        const auto found = golden.chosen(support::as_matrix(logits, Index(golden.ids.size())));
        CHECK(support::max_error(found, golden.logits) <= support::logits_tolerance<T> * golden.max_abs_logit);
    }
}

TEST_CASE_TEMPLATE("golden: the logits of transformers for ../shared/data/tiny, every format", T, f32, bf16) {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("no ../shared/data/tiny: skipped");
        return;
    }
    std::vector<std::filesystem::path> folders;
    for (const auto& entry : std::filesystem::directory_iterator(*shared / "tiny"))
        if (entry.is_directory()) folders.push_back(entry.path());
    std::sort(folders.begin(), folders.end());
    std::string skipped;
    for (const std::filesystem::path& folder : folders) {
        const std::string name = folder.filename().string();
        if (support::is_unsupported(name)) {
            skipped += " " + name;
            continue;
        }
        CAPTURE(name);
        const auto golden = support::read_safetensors(folder / "golden.safetensors");
        const auto ids = support::ids_of(golden.at("ids"));
        const reference::Matrix expected = support::matrix_of(golden.at("logits"));

        const TemporaryFolder old;
        std::vector<std::filesystem::path> models{folder};
        if (std::filesystem::exists(folder / "config.old.json")) {
            for (const auto& file : std::filesystem::directory_iterator(folder))
                if (file.path().filename() != "config.json")
                    std::filesystem::create_symlink(file.path(), old / file.path().filename());
            std::filesystem::copy_file(folder / "config.old.json", old / "config.json");
            models.push_back(old.path());
        }
        if (std::filesystem::exists(folder / "model.gguf")) models.push_back(folder / "model.gguf");
        // rope-theta's checkpoint is one of llama3.c, whose theta the file does not say.
        if (std::filesystem::exists(folder / "model.bin") && name != "rope-theta")
            models.push_back(folder / "model.bin");
        std::vector<f32> first;
        for (const std::filesystem::path& path : models) {
            CAPTURE(path.string());
            const std::vector<f32> logits = support::cold(support::open<T>(path), ids);
            const auto found = support::as_matrix(logits, Index(ids.size()));
            CHECK(support::relative_error(found, expected) <= support::logits_tolerance<T>);
            if (first.empty()) first = logits;
            if (!(name == "rope-llama3" && path.extension() == ".gguf"))
                CHECK(support::different_bits(logits, first) == 0);
        }
    }
    MESSAGE("not yet supported, skipped:", skipped);
}

TEST_CASE_TEMPLATE("golden: the logits of transformers for SmolLM2", T, f32, bf16) {
    const auto shared = support::shared_data();
    const auto path = support::smollm2();
    if (!shared || !path) {
        const std::string missing =
            path ? "no ../shared/data/smollm2" : "no SmolLM2 in the cache (run scripts/get-model)";
        MESSAGE("SKIPPED: ", missing);
        return;
    }
    const auto golden = support::read_safetensors(*shared / "smollm2" / "golden.safetensors");
    const auto ids = support::ids_of(golden.at("ids")), positions = support::ids_of(golden.at("positions"));
    const auto model = support::open<T>(*path);
    auto sequence = model.new_sequence(Index(ids.size()));
    sequence.evaluate(ids, positions);
    std::vector<f32> logits;
    for (int i = 0; i < int(positions.size()); ++i) {
        const std::span<const f32> row = sequence.logits(i);
        logits.insert(logits.end(), row.begin(), row.end());
    }
    const auto found = support::as_matrix(logits, Index(positions.size()));
    CHECK(support::relative_error(found, support::matrix_of(golden.at("logits"))) <= support::logits_tolerance<T>);
}

TEST_CASE("golden: stories260K continues the start token as llama2.c does") {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("no ../shared/data/llama2c: skipped");
        return;
    }
    ModelOptions options;
    options.tokenizer = *shared / "llama2c" / "tok512.bin";
    const auto model = support::open<f32>(*shared / "llama2c" / "stories260K.bin", options);
    auto sequence = model.new_sequence(257);
    std::vector<Token> ids{1};
    std::string text;
    while (ids.size() < 258) {
        const int first_row[] = {0};
        sequence.evaluate(std::span<const Token>(&ids.back(), 1), first_row);
        const std::span<const f32> logits = sequence.logits(0);
        ids.push_back(Token(std::max_element(logits.begin(), logits.end()) - logits.begin()));
        std::string_view piece = model.tokenizer().piece(ids.back());
        if (ids.size() == 2 && piece.starts_with(' ')) piece.remove_prefix(1);  // the first one after the start token
        text += piece;
    }
    CHECK(text + "\n" == support::read_file(*shared / "llama2c" / "greedy.txt"));
}
