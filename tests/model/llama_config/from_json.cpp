#include <doctest/doctest.h>
#include <l3/model/llama_config/from_json.hpp>
#include "support/paths.hpp"

using namespace l3;
using doctest::Contains;
using nlohmann::json;

namespace {

/// The fixture T0 of the acceptance items.
const json plain = json::parse(R"({"model_type": "llama", "hidden_size": 64, "intermediate_size": 128,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 256})");

LlamaConfig read(const json& changes) {
    json j = plain;
    j.update(changes);
    return config_from_json(io::JsonObject(j, "dir/config.json"));
}

LlamaConfig read(const char* changes) { return read(json::parse(changes)); }

template <class E>
void refuses(const char* changes, const std::string& text) {
    CAPTURE(changes);
    CHECK_THROWS_WITH_AS((void)read(changes), Contains(text.c_str()), E);
    CHECK_THROWS_WITH_AS((void)read(changes), Contains("dir/config.json"), E);
}

}  // namespace

TEST_CASE("config.json: missing keys have the defaults of transformers") {
    const LlamaConfig c = read("{}");
    CHECK(c.head_dim == 16);
    CHECK(c.max_position_embeddings == 2048);
    CHECK(c.rms_norm_eps == 1e-6);
    CHECK(c.rope_parameters.rope_theta == 10000);
    CHECK(c.rope_parameters.rope_type == RopeType::unscaled);
    CHECK_FALSE(c.attention_bias);
    CHECK_FALSE(c.mlp_bias);
    CHECK_FALSE(c.tie_word_embeddings.has_value());
    CHECK_FALSE(c.bos_token_id.has_value());
    CHECK(c.eos_token_id.empty());
    CHECK(read(R"({"num_key_value_heads": null})").num_key_value_heads == 4);

    const LlamaConfig m = read(R"({"model_type": "mistral", "num_attention_heads": 8, "sliding_window": null})");
    CHECK(m.max_position_embeddings == 131072);
    json without = plain;
    without.erase("num_key_value_heads");
    without.update({{"model_type", "mistral"}, {"num_attention_heads", 16}, {"sliding_window", nullptr}});
    CHECK(config_from_json(io::JsonObject(without, "c")).num_key_value_heads == 8);
}

TEST_CASE("config.json: every field is read") {
    const LlamaConfig c = read(R"({"head_dim": 24, "max_position_embeddings": 77, "rms_norm_eps": 0.5, "vocab_size": 11,
        "rope_theta": 500000, "attention_bias": true, "mlp_bias": true, "tie_word_embeddings": true, "bos_token_id": 3,
        "eos_token_id": [4, 5], "torch_dtype": "float16", "architectures": ["LlamaForCausalLM"], "hidden_act": "silu"})");
    CHECK(c.head_dim == 24);
    CHECK(c.max_position_embeddings == 77);
    CHECK(c.rms_norm_eps == 0.5);
    CHECK(c.vocab_size == 11);
    CHECK(c.rope_parameters.rope_theta == 500000);
    CHECK(c.attention_bias);
    CHECK(c.mlp_bias);
    CHECK(c.tie_word_embeddings == true);
    CHECK(c.bos_token_id == 3);
    CHECK(c.eos_token_id == std::vector<Token>{4, 5});
    CHECK(c.dtype == "float16");
    CHECK(read(R"({"dtype": "bfloat16"})").dtype == "bfloat16");
    CHECK(read(R"({"eos_token_id": 7})").eos_token_id == std::vector<Token>{7});
    CHECK(read(R"({"eos_token_id": null})").eos_token_id.empty());
    CHECK(read(R"({"eos_token_id": -1})").eos_token_id.empty());
    CHECK(read(R"({"tie_word_embeddings": false})").tie_word_embeddings == false);
}

TEST_CASE("acceptance A10, A11: the rotary embedding in every spelling") {
    const char* const linear[] = {
        R"({"rope_theta": 7.0, "rope_scaling": {"type": "linear", "factor": 4.0}})",
        R"({"rope_theta": 7.0, "rope_scaling": {"rope_type": "linear", "factor": 4.0}})",
        R"({"rope_parameters": {"rope_theta": 7.0, "rope_type": "linear", "factor": 4.0}})",
    };
    for (const char* text : linear) {
        const RopeParameters rope = read(text).rope_parameters;
        CHECK(rope.rope_theta == 7);
        CHECK(rope.rope_type == RopeType::linear);
        CHECK(rope.factor == 4);
    }
    const char* const llama3[] = {
        R"({"rope_theta": 500000.0, "rope_scaling": {"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"}})",
        R"({"rope_parameters": {"rope_theta": 500000.0, "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 8192, "rope_type": "llama3"}})",
    };
    for (const char* text : llama3) {
        const RopeParameters rope = read(text).rope_parameters;
        CHECK(rope.rope_theta == 500000);
        CHECK(rope.rope_type == RopeType::llama3);
        CHECK(rope.factor == 32);
        CHECK(rope.original_max_position_embeddings == 8192);
    }
    for (const char* text : {R"({"rope_scaling": null})", R"({"rope_scaling": {"rope_type": "default"}})",
                             R"({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 1.0}})"})
        CHECK(read(text).rope_parameters.rope_type == RopeType::unscaled);

    refuses<UnsupportedError>(R"({"rope_scaling": {"rope_type": "foo"}})", "rope type 'foo' is not supported");
    refuses<UnsupportedError>(R"({"rope_parameters": {"rope_type": "dynamic", "factor": 2.0}})", "rope type 'dynamic'");
    refuses<UnsupportedError>(R"({"rope_scaling": {"type": "yarn", "factor": 4.0}})", "rope type 'yarn'");
    refuses<UnsupportedError>(R"({"rope_scaling": {"type": "linear", "factor": 4.0, "attention_factor": 1.5}})",
                              "'rope_scaling.attention_factor' is 1.5, expected no such key");
    refuses<UnsupportedError>(R"({"rope_parameters": {"full_attention": {"rope_type": "linear"}}})",
                              "'rope_parameters.full_attention' is");
    refuses<UnsupportedError>(R"({"rope_scaling": {"type": "linear", "factor": 2}, "rope_parameters": {}})",
                              "has both 'rope_scaling' and 'rope_parameters'");
    refuses<FormatError>(R"({"rope_scaling": {"type": "linear"}})", "no 'rope_scaling.factor'");
    refuses<FormatError>(R"({"rope_scaling": {"type": "llama3", "factor": 8}})", "no 'rope_scaling.low_freq_factor'");
    refuses<FormatError>(R"({"rope_scaling": {"type": "linear", "factor": "4"}})", "'rope_scaling.factor' is \"4\"");
}

TEST_CASE("acceptance A13: head_dim as given, derived only where heads divide the hidden size") {
    const LlamaConfig c = read(R"({"hidden_size": 56, "num_attention_heads": 6, "head_dim": 16})");
    CHECK(c.head_dim == 16);
    refuses<FormatError>(R"({"hidden_size": 56, "num_attention_heads": 6})", "head_dim is not given");
    refuses<FormatError>(R"({"hidden_size": 56, "num_attention_heads": 6, "head_dim": null})", "head_dim is not given");
}

TEST_CASE("config.json: other families, activations and architectures are refused by name") {
    for (const char* family : {"qwen2", "qwen3", "gemma2", "mixtral", "phi3", "smollm3", "ministral", "gpt_neox"})
        CHECK_THROWS_WITH_AS((void)read(json{{"model_type", family}}),
                             Contains(("model_type '" + std::string(family) + "' is not supported").c_str()),
                             UnsupportedError);
    refuses<UnsupportedError>(R"({"architectures": ["LlamaForSequenceClassification"]})",
                              "'LlamaForSequenceClassification'");
    refuses<FormatError>(R"({"architectures": ["LlamaForCausalLM", 1]})", "'architectures[1]' is 1, expected a string");
    refuses<UnsupportedError>(R"({"hidden_act": "gelu"})", "hidden_act 'gelu' is not supported; supported is silu");
    json without = plain;
    without.erase("model_type");
    CHECK_THROWS_WITH_AS((void)config_from_json(io::JsonObject(without, "c.json")), "c.json: no 'model_type'",
                         FormatError);
}

TEST_CASE("config.json: an attention window is refused unless it spans every position") {
    refuses<UnsupportedError>(R"({"model_type": "mistral", "sliding_window": 16, "max_position_embeddings": 256})",
                              "sliding_window is 16, less than max_position_embeddings 256");
    refuses<UnsupportedError>(
        R"({"model_type": "mistral"})",
        "sliding_window is 4096 (the default of mistral), less than max_position_embeddings 131072");
    refuses<UnsupportedError>(R"({"layer_types": ["full_attention", "sliding_attention"]})", "'sliding_attention'");
    CHECK_NOTHROW((void)read(R"({"model_type": "mistral", "sliding_window": 256, "max_position_embeddings": 256})"));
    CHECK_NOTHROW((void)read(R"({"model_type": "mistral", "max_position_embeddings": 4096})"));
    CHECK_NOTHROW((void)read(R"({"layer_types": ["full_attention", "full_attention"]})"));
}

TEST_CASE("config.json: what would change the mathematics and is not understood is refused by name") {
    refuses<UnsupportedError>(R"({"attention_multiplier": 0.2})", "'attention_multiplier' is 0.2");
    refuses<UnsupportedError>(R"({"final_logit_softcapping": 30.0})", "'final_logit_softcapping' is 30.0");
    refuses<UnsupportedError>(R"({"num_experts": 8})", "'num_experts' is 8");
    refuses<UnsupportedError>(R"({"quantization_config": {"quant_method": "gptq", "bits": 4}})",
                              "'quantization_config' is an object");
    refuses<UnsupportedError>(R"({"rope_interleaved": true})", "'rope_interleaved' is true, expected false");
    refuses<UnsupportedError>(R"({"use_rope": false})", "'use_rope' is false");
    refuses<UnsupportedError>(R"({"partial_rotary_factor": 0.5})", "'partial_rotary_factor' is 0.5, expected 1");
    CHECK_NOTHROW((void)read(R"({"final_logit_softcapping": null, "partial_rotary_factor": 1.0, "pretraining_tp": 1,
        "_name_or_path": "x", "transformers_version": "4", "use_cache": true, "attention_dropout": 0.0,
        "initializer_range": 0.02, "is_llama_config": true, "rope_interleaved": false,
        "transformers.js_config": {"dtype": "q4"}, "pad_token_id": null, "top_k": 50, "pruned_heads": {}})"));
}

TEST_CASE("config.json: values of another type or range are named") {
    refuses<FormatError>(R"({"hidden_size": "64"})", "'hidden_size' is \"64\"");
    refuses<FormatError>(R"({"hidden_size": 64.5})", "'hidden_size' is 64.5");
    refuses<FormatError>(R"({"hidden_size": 4294967296})", "'hidden_size' is 4294967296");
    refuses<FormatError>(R"({"num_hidden_layers": 0})", "num_hidden_layers is 0");
    refuses<FormatError>(R"({"num_key_value_heads": 3})", "not a multiple of num_key_value_heads 3");
    refuses<FormatError>(R"({"eos_token_id": "2"})", "'eos_token_id' is \"2\"");
    json without = plain;
    without.erase("num_attention_heads");
    CHECK_THROWS_WITH_AS((void)config_from_json(io::JsonObject(without, "c.json")), "c.json: no 'num_attention_heads'",
                         FormatError);
}

TEST_CASE("config.json of the shared tiny models: opened or refused by family") {
    const auto data = support::shared_data();
    if (!data) {
        MESSAGE("no shared data: skipped");
        return;
    }
    int opened = 0, refused = 0;
    const json manifest = io::read_json(*data / "tiny/manifest.json");
    for (const json& m : manifest.at("models")) {
        for (const char* file : {"config.json", "config.old.json"}) {
            const auto path = *data / "tiny" / m.at("name").get<std::string>() / file;
            if (!std::filesystem::exists(path)) continue;
            CAPTURE(path.string());
            const json j = io::read_json(path);
            const std::string family = m.at("model_type"), features = m.at("features").dump();
            if (family != "llama" && family != "mistral") {
                CHECK_THROWS_WITH_AS((void)config_from_json(io::JsonObject(j, path.string())),
                                     Contains(("'" + family + "'").c_str()), UnsupportedError);
            } else if (features.find("yarn") != features.npos) {
                CHECK_THROWS_WITH_AS((void)config_from_json(io::JsonObject(j, path.string())), Contains("'yarn'"),
                                     UnsupportedError);
            } else if (j.value("sliding_window", json()).is_number()) {
                CHECK_THROWS_WITH_AS((void)config_from_json(io::JsonObject(j, path.string())),
                                     Contains("sliding_window is 16"), UnsupportedError);
            } else {
                CHECK(config_from_json(io::JsonObject(j, path.string())).vocab_size == m.at("V"));
                ++opened;
                continue;
            }
            ++refused;
        }
    }
    CHECK(opened > 20);
    CHECK(refused > 15);
}
