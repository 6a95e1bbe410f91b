#include <doctest/doctest.h>
#include <l3/model/model_tokenizer.hpp>
#include "support/write_gguf.hpp"
#include "support/write_llama2c.hpp"

using namespace l3;
using doctest::Contains;
using support::TemporaryFolder;

namespace {

/// A byte-level BPE of so many tokens, one letter each.
std::string tokenizer_json(int tokens) {
    std::string vocab;
    for (int i = 0; i < tokens; ++i)
        vocab += (i ? ", \"" : "\"") + std::string(1, char('a' + i)) + "\": " + std::to_string(i);
    return R"({"added_tokens": [], "normalizer": null, "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false},
        "post_processor": null, "decoder": {"type": "ByteLevel"}, "model": {"type": "BPE", "merges": [], "vocab": {)" +
           vocab + "}}}";
}

/// A tokenizer.bin of llama2.c: three control tokens, 256 bytes, and more.
std::string tokenizer_bin(int tokens) {
    support::GgufBytes out;
    out.number(std::uint32_t(8));
    for (int i = 0; i < tokens; ++i) {
        char byte[8];
        std::snprintf(byte, sizeof byte, "<0x%02X>", unsigned(i - 3) & 255);
        const std::string text = i < 3 ? "<x>" : i < 259 ? byte : std::string(1, char('a' + i - 259));
        out.number(0.0f).number(std::int32_t(text.size()));
        out.bytes += text;
    }
    return out.bytes;
}

Checkpoint checkpoint(const std::filesystem::path& path, CheckpointFormat format, int vocab_size, bool inside = false) {
    Checkpoint c;
    c.path = path;
    c.format = format;
    c.config.vocab_size = vocab_size;
    c.has_tokenizer_inside = inside;
    return c;
}

}  // namespace

TEST_CASE("ModelTokenizer: in a directory, beside a file, or where the user says") {
    const TemporaryFolder folder;
    std::filesystem::create_directory(folder / "hf");
    std::filesystem::create_directory(folder / "other");
    support::write_file(folder / "hf/tokenizer.json", tokenizer_json(5));
    support::write_file(folder / "other/tokenizer.json", tokenizer_json(3));
    support::write_file(folder / "hf/tokenizer.bin", tokenizer_bin(262));

    const ModelTokenizer in_directory(checkpoint(folder / "hf", CheckpointFormat::hugging_face, 5), {});
    CHECK(in_directory.found());
    CHECK(in_directory.get().vocab_size() == 5);
    CHECK(in_directory.get().encode("bad") == std::vector<Token>{1, 0, 3});
    CHECK(&in_directory.get() == &in_directory.get());  // read once
    const ModelTokenizer beside_gguf(checkpoint(folder / "hf/model.gguf", CheckpointFormat::gguf, 5), {});
    CHECK(beside_gguf.get().vocab_size() == 5);
    const ModelTokenizer beside_bin(checkpoint(folder / "hf/model.bin", CheckpointFormat::llama2c, 262), {});
    CHECK(beside_bin.path() == folder / "hf/tokenizer.bin");
    CHECK(beside_bin.get().vocab_size() == 262);
    const ModelTokenizer given(checkpoint(folder / "hf", CheckpointFormat::hugging_face, 5),
                               folder / "other/tokenizer.json");
    CHECK(given.found());
    CHECK(given.get().vocab_size() == 3);
}

TEST_CASE("ModelTokenizer: inside a GGUF file, whatever its name") {
    const TemporaryFolder folder;
    const std::vector<support::GgufMetadata> metadata{
        {"tokenizer.ggml.model", std::string("gpt2")},
        {"tokenizer.ggml.pre", std::string("llama-bpe")},
        {"tokenizer.ggml.tokens", std::vector<std::string>{"a", "b", "ab"}},
        {"tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 1, 1}},
        {"tokenizer.ggml.merges", std::vector<std::string>{"a b"}},
        {"tokenizer.ggml.bos_token_id", std::uint32_t(0)},
        {"tokenizer.ggml.eos_token_id", std::uint32_t(1)}};
    support::write_gguf(folder / "model.bin", metadata, {});
    const ModelTokenizer tokenizer(checkpoint(folder / "model.bin", CheckpointFormat::gguf, 3, true), {});
    CHECK(tokenizer.found());
    CHECK(tokenizer.get().encode("abb") == std::vector<Token>{2, 1});
}

TEST_CASE(
    "acceptance K05: a missing tokenizer is named, and one with more tokens than the model refused with both numbers") {
    const TemporaryFolder folder;
    const ModelTokenizer none(checkpoint(folder.path(), CheckpointFormat::hugging_face, 5), {});
    CHECK_FALSE(none.found());
    CHECK_THROWS_WITH_AS((void)none.get(), Contains("tokenizer.json"), IoError);
    CHECK_THROWS_WITH_AS((void)none.get(), Contains(folder.path().string().c_str()), IoError);  // and again
    const ModelTokenizer nowhere(checkpoint(folder.path(), CheckpointFormat::hugging_face, 5), folder / "mine.json");
    CHECK(nowhere.found());
    CHECK_THROWS_WITH_AS((void)nowhere.get(), Contains("mine.json"), IoError);

    support::write_file(folder / "tokenizer.json", tokenizer_json(6));
    const ModelTokenizer larger(checkpoint(folder.path(), CheckpointFormat::hugging_face, 5), {});
    CHECK(larger.found());
    CHECK_THROWS_WITH_AS((void)larger.get(), Contains("6 tokens"), FormatError);
    CHECK_THROWS_WITH_AS((void)larger.get(), Contains("5 rows"), FormatError);
    const ModelTokenizer smaller(checkpoint(folder.path(), CheckpointFormat::hugging_face, 8), {});
    CHECK(smaller.get().vocab_size() == 6);  // rows that were padded
    support::write_file(folder / "tokenizer.bin", tokenizer_bin(300));
    const ModelTokenizer of_another(checkpoint(folder / "model.bin", CheckpointFormat::llama2c, 512), {});
    CHECK_THROWS_WITH_AS((void)of_another.get(), Contains("300"), FormatError);
    CHECK_THROWS_WITH_AS((void)of_another.get(), Contains("512"), FormatError);
}
