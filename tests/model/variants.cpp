// Every variant of the family, in every format that can hold it, against the double-precision reference.
#include <doctest/doctest.h>
#include "support/evaluate.hpp"

using namespace l3;
using support::Spelling;
using support::TemporaryFolder;
using support::TinyModel;

namespace {

/// The model written in every format: file or folder, and what to call it.
std::vector<std::pair<std::string, std::filesystem::path>> write_all(const TinyModel& model,
                                                                     const TemporaryFolder& to) {
    std::vector<std::pair<std::string, std::filesystem::path>> written;
    const auto path = [&](const char* name, const char* file) {
        return written.emplace_back(name, to.path() / file).second;
    };
    model.write_directory(path("directory", "hf"));
    model.write_directory(path("directory, older config.json", "hf-old"), Spelling::old);
    model.write_gguf(path("GGUF", "model.gguf"));
    model.write_gguf(path("GGUF version 2, alignment 64", "v2.gguf"), {.version = 2, .alignment = 64});
    if (model.fits_llama2c()) model.write_llama2c(path("llama2.c", "model.bin"));
    return written;
}

/// Long enough for several groups of positions; past a block of attention, or past the original context, for some.
Index prompt_length(const TinyModel& model) {
    if (model.name == "t0") return 300;
    if (model.config.rope_type != "default") return 150;
    return 41;
}

}  // namespace

TEST_CASE_TEMPLATE("every variant gives the logits of the double reference, in every format the same bits", T, f32,
                   bf16) {
    for (const TinyModel& tiny : support::tiny_models()) {
        CAPTURE(tiny.name);
        const TemporaryFolder folder;
        const auto ids = support::random_ids(prompt_length(tiny), tiny.config.vocab_size);
        const reference::Matrix expected = tiny.logits(ids);
        // f32: the bits of all formats are compared with the first. GGUF stores the factors of llama3 scaling in f32.
        std::vector<f32> first;
        for (const auto& [format, path] : write_all(tiny, folder)) {
            CAPTURE(format);
            const auto model = support::open<T>(path, 2);
            const std::vector<f32> logits = support::cold(model, ids);
            const double error = support::relative_error(support::as_matrix(logits, Index(ids.size())), expected);
            CHECK(error <= support::logits_tolerance<T>);
            if (first.empty()) first = logits;
            if (!(tiny.config.rope_type == "llama3" && format.starts_with("GGUF")))
                CHECK(support::different_bits(logits, first) == 0);
        }
    }
}

TEST_CASE("bf16 is as near to the double reference as rounding at the contract's places allows") {
    // The same roundings in double: what is left are f32 sums and values that fell to the other side of a rounding.
    for (const TinyModel& tiny : support::tiny_models()) {
        CAPTURE(tiny.name);
        const TemporaryFolder folder;
        tiny.write_directory(folder / "hf");
        const auto ids = support::random_ids(30, tiny.config.vocab_size);
        const std::vector<f32> logits = support::cold(support::open<bf16>(folder / "hf", 2), ids);
        const reference::Matrix rounded = tiny.logits(ids, reference::to_bf16);
        CHECK(support::relative_error(support::as_matrix(logits, 30), rounded) <= 1e-2);
    }
}

TEST_CASE_TEMPLATE("acceptance A15: one random T0 gives the same numbers from all three formats, over 40 tokens", T,
                   f32, bf16) {
    const TinyModel tiny = support::t0();
    const TemporaryFolder folder;
    const auto ids = support::random_ids(40, 256, 15);
    tiny.write_directory(folder / "hf");
    tiny.write_gguf(folder / "model.gguf");
    tiny.write_llama2c(folder / "model.bin");
    const std::vector<f32> hf = support::cold(support::open<T>(folder / "hf"), ids);
    CHECK(support::different_bits(support::cold(support::open<T>(folder / "model.gguf"), ids), hf) == 0);
    CHECK(support::different_bits(support::cold(support::open<T>(folder / "model.bin"), ids), hf) == 0);
}
