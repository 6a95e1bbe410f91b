#include <doctest/doctest.h>
#include <l3/model/checkpoint.hpp>
#include "support/tiny_model.hpp"

using namespace l3;
using doctest::Contains;
using support::TemporaryFolder;

namespace {

template <class E>
void refuses(const std::filesystem::path& path, const std::string& text) {
    CAPTURE(path.string());
    CHECK_THROWS_WITH_AS((void)open_checkpoint(path), Contains(text.c_str()), E);
    CHECK_THROWS_WITH_AS((void)open_checkpoint(path), Contains(path.string().c_str()), E);
}

}  // namespace

TEST_CASE("names of tensors in GGUF files") {
    CHECK(gguf_tensor_name("model.embed_tokens.weight") == "token_embd.weight");
    CHECK(gguf_tensor_name("model.norm.weight") == "output_norm.weight");
    CHECK(gguf_tensor_name("lm_head.weight") == "output.weight");
    for (const support::TinyModel::Named& t : support::t0().tensors())
        CHECK(gguf_tensor_name(t.name) == support::TinyModel::gguf_name(t.name));
    CHECK(gguf_tensor_name("model.layers.17.self_attn.q_proj.bias") == "blk.17.attn_q.bias");
    CHECK(gguf_tensor_name("model.layers.") == "blk.");
    CHECK(gguf_tensor_name("other") == "other");
}

TEST_CASE("open_checkpoint knows directories, GGUF and llama2.c files, the latter two by content") {
    const TemporaryFolder folder;
    const support::TinyModel model = support::t0("BF16");
    model.write_directory(folder / "hf");
    model.write_gguf(folder / "model.gguf");
    model.write_gguf(folder / "model.bin");  // whatever its name
    model.write_llama2c(folder / "stories.bin");
    std::filesystem::create_directory_symlink(folder / "hf", folder / "link");

    for (const auto& [name, format] : {std::pair("hf", CheckpointFormat::hugging_face),
                                       {"link", CheckpointFormat::hugging_face},
                                       {"model.gguf", CheckpointFormat::gguf},
                                       {"model.bin", CheckpointFormat::gguf},
                                       {"stories.bin", CheckpointFormat::llama2c}}) {
        CAPTURE(name);
        const Checkpoint c = open_checkpoint(folder / name);
        CHECK(c.format == format);
        CHECK(c.path == folder / name);
        CHECK(c.config.hidden_size == 64);
        CHECK(c.config.num_key_value_heads == 2);
        CHECK(c.config.vocab_size == 256);
        CHECK(c.interleaved_rotary() == (format != CheckpointFormat::hugging_face));
        CHECK_FALSE(c.has_tokenizer_inside);
    }
    CHECK(format_name(CheckpointFormat::gguf) == "GGUF");
}

TEST_CASE("acceptance A01: what is looked for in a directory is named") {
    const TemporaryFolder folder;
    refuses<IoError>(folder.path(), "config.json");
    refuses<IoError>(folder.path(), "model.safetensors");
    support::write_file(folder / "config.json", support::t0().config_json());
    refuses<IoError>(folder.path(), "model.safetensors");
    refuses<IoError>(folder.path(), "model.safetensors.index.json");
}

TEST_CASE("open_checkpoint: paths that lead nowhere, and files that are no models, are named") {
    const TemporaryFolder folder;
    refuses<IoError>(folder / "no/such/model.gguf", "no such file or directory");
    std::filesystem::create_symlink(folder / "loop", folder / "loop");
    refuses<IoError>(folder / "loop", "loop: " + std::generic_category().message(ELOOP));
    support::write_file(folder / "model.safetensors", "x");
    refuses<UnsupportedError>(folder / "model.safetensors", "name its directory");
    support::write_file(folder / "pytorch_model.bin", "PK\x03\x04 and so on");
    refuses<UnsupportedError>(folder / "pytorch_model.bin", "PyTorch");
    support::write_file(folder / "short.bin", "1234");
    refuses<FormatError>(folder / "short.bin", "");
    support::write_file(folder / "wrong.gguf", "GGML and more");
    refuses<FormatError>(folder / "wrong.gguf", "GGUF");
    std::filesystem::create_directory(folder / "meta");
    support::write_file(folder / "meta/params.json", "{}");
    refuses<UnsupportedError>(folder / "meta", "params.json");
    support::write_file(folder / "config.json", "{\"model_type\": \"llama\",}");
    CHECK_THROWS_WITH_AS((void)open_checkpoint(folder.path()),
                         Contains("config.json: not valid JSON at line 1, column 24"), FormatError);
}

TEST_CASE("acceptance A03: Git LFS pointers are recognised whatever the format") {
    const TemporaryFolder folder;
    const std::string pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 130\n";
    support::t0().write_directory(folder / "hf");
    support::write_file(folder / "hf/model.safetensors", pointer);
    support::write_file(folder / "x.gguf", pointer);
    support::write_file(folder / "x.bin", pointer);
    refuses<FormatError>(folder / "hf", "Git LFS");
    refuses<FormatError>(folder / "x.gguf", "Git LFS");
    refuses<FormatError>(folder / "x.bin", "Git LFS");
}
