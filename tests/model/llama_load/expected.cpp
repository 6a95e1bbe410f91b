#include <doctest/doctest.h>
#include <l3/model/llama_load/expected.hpp>

using namespace l3;

namespace {

Checkpoint checkpoint(CheckpointFormat format, std::initializer_list<const char*> names) {
    Checkpoint c;
    c.format = format;
    c.config.num_hidden_layers = 2;
    c.tensors = io::TensorSet("the/model");
    for (const char* name : names) c.tensors.add({name, io::StorageType::f32, {4}, {}, nullptr});
    return c;
}

}  // namespace

TEST_CASE("ExpectedTensors finds tensors by their Hugging Face names in files of either naming") {
    const Checkpoint hf = checkpoint(CheckpointFormat::hugging_face, {"model.norm.weight"});
    const Checkpoint gguf = checkpoint(CheckpointFormat::gguf, {"output_norm.weight"});
    CHECK(loading::ExpectedTensors(hf).take("model.norm.weight", {4}, "").name == "model.norm.weight");
    CHECK(loading::ExpectedTensors(gguf).take("model.norm.weight", {4}, "").name == "output_norm.weight");
    CHECK_THROWS_WITH_AS((void)loading::ExpectedTensors(gguf).take("model.layers.1.mlp.up_proj.weight", {4}, ""),
                         "the/model has no tensor 'blk.1.ffn_up.weight'", FormatError);
    CHECK_THROWS_WITH_AS((void)loading::ExpectedTensors(gguf).take("model.norm.weight", {5}, "[hidden_size]"),
                         "tensor 'output_norm.weight' (in memory) has the shape [4], expected [5]: [hidden_size]",
                         FormatError);
}

TEST_CASE("ExpectedTensors refuses leftovers of the model's own parts only") {
    const auto refuse = [](CheckpointFormat format, const char* name) {
        const Checkpoint c = checkpoint(format, {name});
        loading::ExpectedTensors(c).refuse_leftovers();
    };
    for (const char* name : {"blk.0.attn_q_norm.weight", "blk.1.ffn_gate_inp.weight", "output.bias", "output_norm.bias",
                             "token_embd_norm.weight", "rope_factors_long.weight"})
        CHECK_THROWS_AS(refuse(CheckpointFormat::gguf, name), UnsupportedError);
    for (const char* name : {"rope_freqs.weight", "blk.0.attn_rot_embd.weight", "mm.0.weight"})
        CHECK_NOTHROW(refuse(CheckpointFormat::gguf, name));
    for (const char* name : {"model.layers.1.self_attn.sinks", "model.embed_tokens.scale", "lm_head.qweight"})
        CHECK_THROWS_AS(refuse(CheckpointFormat::hugging_face, name), UnsupportedError);
    for (const char* name : {"model.layers.x", "vision.embed.weight",
                             "model.layers.0.self_attn.rotary_emb.inv_freq", "model.layers.2.self_attn.rotary_emb.inv_freq"})
        CHECK_NOTHROW(refuse(CheckpointFormat::hugging_face, name));

    for (const char* name : {"model.layers.2.self_attn.sinks", "model.layers.3.mlp.up_proj.weight",
                             "model.layers.99999999999999999999.x"})
        CHECK_THROWS_WITH_AS(refuse(CheckpointFormat::hugging_face, name),
                             ("tensor '" + std::string(name) + "' (in memory) is of a layer beyond the 2 that the config "
                              "counts (num_hidden_layers)").c_str(), FormatError);
    CHECK_THROWS_WITH_AS(refuse(CheckpointFormat::gguf, "blk.2.attn_q.weight"),
                         "tensor 'blk.2.attn_q.weight' (in memory) is of a layer beyond the 2 that the config counts "
                         "(llama.block_count)", FormatError);

    const Checkpoint tied = checkpoint(CheckpointFormat::hugging_face, {"lm_head.weight"});
    loading::ExpectedTensors expected(tied);
    CHECK_THROWS_AS(expected.refuse_leftovers(), UnsupportedError);
    expected.allow("lm_head.weight");
    CHECK_NOTHROW(expected.refuse_leftovers());
}
