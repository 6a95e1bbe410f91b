#include <doctest/doctest.h>
#include "chat_model.hpp"

using support::run;

TEST_CASE("l3-info: what a model is, from its headers") {
    const support::ChatModel model;
    const auto r = run("l3-info", {"-m", model.path(), "--json", "-c", "100", "--dtype", "f32"});
    CHECK(r.status == 0);
    CHECK(r.err == "");
    const auto info = nlohmann::json::parse(r.out);
    CHECK(info["format"] == "Hugging Face directory");
    CHECK(info["config"]["vocab_size"] == model.vocab_size());
    CHECK(info["config"]["num_key_value_heads"] == 2);
    CHECK(info["tokenizer"]["kind"] == "byte-level BPE");
    CHECK(info["chat_format"] == "chatml");
    std::int64_t parameters = 0;
    for (const auto& t : model.model().tensors()) {
        std::int64_t n = 1;
        for (std::int64_t d : t.shape) n *= d;
        parameters += n;
    }
    CHECK(info["parameters"] == parameters);
    CHECK(info["bytes"] == parameters * 4);
    CHECK(info["stored"][0]["type"] == "F32");
    CHECK(info["memory"]["weights_bytes"] == parameters * 4);
    CHECK(info["memory"]["context"] == 100);
    CHECK(info["memory"]["cache_bytes"].get<std::int64_t>() >= 100 * 2 * 2 * 16 * 2 * 4);  // positions, k and v, heads, Dh, layers
    CHECK(info["tensors"].size() == model.model().tensors().size());

    const auto text = run("l3-info", {"-m", model.path()});
    CHECK(text.status == 0);
    for (const char* part : {"Hugging Face directory", "byte-level BPE", "chatml", "F32", "vocab_size"})
        CHECK_MESSAGE(text.out.find(part) != std::string::npos, part);
    CHECK(text.out.find("model.layers.0.mlp.up_proj.weight") == std::string::npos);
    CHECK(run("l3-info", {"-m", model.path(), "-v"}).out.find("model.layers.0.mlp.up_proj.weight [128,64]") != std::string::npos);
}

TEST_CASE("l3-info: a model without tokenizer or template") {
    const support::TemporaryFolder folder;
    support::TinyModel model;
    model.write_gguf(folder / "m.gguf");
    const auto info = nlohmann::json::parse(run("l3-info", {"-m", (folder / "m.gguf").string(), "--json"}).out);
    CHECK(info["format"] == "GGUF");
    CHECK(info["tokenizer"].is_null());
    CHECK(info["chat_format"].is_null());
}
