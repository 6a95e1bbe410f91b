#include <doctest/doctest.h>
#include <l3/model/model_info.hpp>
#include "support/tiny_model.hpp"

using namespace l3;
using doctest::Contains;
using support::TemporaryFolder;

TEST_CASE("ModelInfo: shapes, and bytes by type, from the headers") {
    const TemporaryFolder folder;
    support::TinyModel model = support::t0("BF16");
    model.type = [](const std::string& name) { return std::string(name.find("norm") != name.npos ? "F32" : "BF16"); };
    model.write_directory(folder / "hf");
    const ModelInfo info = read_model_info(folder / "hf");
    CHECK(info.path == folder / "hf");
    CHECK(info.format == CheckpointFormat::hugging_face);
    CHECK(info.config.vocab_size == 256);
    CHECK(info.tensors.size() == model.tensors().size());
    const std::uint64_t norms = 5 * 64, matrices = 2 * 256 * 64 + 2 * (2 * 64 * 64 + 2 * 32 * 64 + 3 * 128 * 64);
    CHECK(info.parameters == norms + matrices);
    CHECK(info.bytes == norms * 4 + matrices * 2);
    REQUIRE(info.stored.size() == 2);
    CHECK(info.stored[0].type == "BF16");
    CHECK(info.stored[0].elements == matrices);
    CHECK(info.stored[0].bytes == matrices * 2);
    CHECK(info.stored[1].type == "F32");
    CHECK(info.stored[1].tensors == 5);
    CHECK_FALSE(info.has_tokenizer);
    CHECK(info.cache_bytes<bf16>(4096) == 2 * (2 * 2 * 4096 * 16 + 32) * 2);
    CHECK(info.cache_bytes<f32>(4096) == 2 * info.cache_bytes<bf16>(4096));
    CHECK_THROWS_WITH_AS((void)read_model_info(folder / "none"), Contains("none: no such file or directory"), IoError);
}

TEST_CASE("ModelInfo: shared models and tokenizers, where they are at hand") {
    const auto data = support::shared_data();
    if (!data) {
        MESSAGE("no shared data: skipped");
        return;
    }
    const ModelInfo gguf = read_model_info(*data / "tiny/gqa-bf16/model.gguf");
    CHECK(gguf.has_tokenizer);
    CHECK(gguf.tokenizer_kind == "byte-level BPE");
    CHECK(gguf.tokenizer_vocab_size == 280);
    const ModelInfo stories = read_model_info(*data / "llama2c/stories260K.bin", *data / "llama2c/tok512.bin");
    CHECK(stories.format == CheckpointFormat::llama2c);
    CHECK(stories.tokenizer_kind == "SentencePiece BPE");
    CHECK(stories.tokenizer_vocab_size == 512);
}
