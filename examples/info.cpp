// l3-info: what a model file is, from its headers alone.
#include "support/program.hpp"
#include <iomanip>
#include <l3/device/cpu/memory.hpp>
#include <l3/model/model_info.hpp>
#include <l3/session/session.hpp>
#include <l3/tokenizer/chat_template.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

namespace {

using Json = nlohmann::ordered_json;

const char* rope_type_name(l3::RopeType type) {
    switch (type) {
        case l3::RopeType::linear: return "linear";
        case l3::RopeType::llama3: return "llama3";
        default: return "default";
    }
}

/// The format that the model's chat template writes, or null.
Json chat_format(const l3::ModelInfo& info) {
    if (info.chat_template.empty()) return nullptr;
    try {
        return std::string(l3::ChatTemplate::from_text(info.chat_template, "", "").name());
    } catch (const l3::UnsupportedError&) {
        return "not known to l3";
    }
}

Json describe(const l3::ModelInfo& info, l3::Index context, const std::string& dtype) {
    const l3::LlamaConfig& c = info.config;
    Json stored = Json::array(), tensors = Json::array();
    for (const l3::StoredBytes& s : info.stored)
        stored.push_back({{"type", s.type}, {"tensors", s.tensors}, {"elements", s.elements}, {"bytes", s.bytes}});
    for (const auto& [name, shape] : info.tensors) {
        Json dims = Json::array();
        for (int i = 0; i < shape.rank(); ++i) dims.push_back(shape[i]);
        tensors.push_back({{"name", name}, {"shape", std::move(dims)}});
    }
    Json tokenizer;  // null: none
    if (info.has_tokenizer) tokenizer = {{"kind", info.tokenizer_kind}, {"vocab_size", info.tokenizer_vocab_size}};
    const bool bf16 = dtype == "bf16";
    const l3::Index chunk = std::min(l3::SessionOptions().chunk, context);
    return {{"path", info.path.string()},
            {"format", std::string(l3::format_name(info.format))},
            {"model_type", c.model_type},
            {"parameters", info.parameters},
            {"bytes", info.bytes},
            {"stored", std::move(stored)},
            {"config",
             {{"hidden_size", c.hidden_size},
              {"intermediate_size", c.intermediate_size},
              {"num_hidden_layers", c.num_hidden_layers},
              {"num_attention_heads", c.num_attention_heads},
              {"num_key_value_heads", c.num_key_value_heads},
              {"head_dim", c.head_dim},
              {"vocab_size", c.vocab_size},
              {"max_position_embeddings", c.max_position_embeddings},
              {"rms_norm_eps", c.rms_norm_eps},
              {"rope_theta", c.rope_parameters.rope_theta},
              {"rope_type", rope_type_name(c.rope_parameters.rope_type)},
              {"attention_bias", c.attention_bias},
              {"mlp_bias", c.mlp_bias}}},
            {"tokenizer", std::move(tokenizer)},
            {"chat_format", chat_format(info)},
            {"memory",
             {{"dtype", dtype},
              {"context", context},
              {"weights_bytes", info.parameters * (bf16 ? 2 : 4)},
              {"cache_bytes", bf16 ? info.cache_bytes<l3::bf16>(context) : info.cache_bytes<l3::f32>(context)},
              {"chunk", chunk},
              {"activation_bytes", bf16 ? info.activation_bytes<l3::bf16>(chunk) : info.activation_bytes<l3::f32>(chunk)}}},
            {"tensors", std::move(tensors)}};
}

std::string megabytes(const Json& bytes) {
    std::ostringstream out;
    out << std::fixed << std::setprecision(1) << double(bytes.get<std::uint64_t>()) / 1e6 << " MB";
    return out.str();
}
std::string words(const Json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

void print(const Json& d, bool all_tensors) {
    const auto line = [](const std::string& name, const std::string& value) {
        std::cout << std::left << std::setw(26) << name << value << '\n';
    };
    line("file", words(d["path"]));
    line("format", words(d["format"]) + ", " + words(d["model_type"]));
    line("parameters", words(d["parameters"]) + " in " + megabytes(d["bytes"]));
    for (const Json& s : d["stored"])
        line("  " + words(s["type"]), words(s["tensors"]) + " tensors, " + words(s["elements"]) + " elements, " + megabytes(s["bytes"]));
    for (const auto& [name, value] : d["config"].items()) line(name, words(value));
    const Json& tokenizer = d["tokenizer"];
    line("tokenizer", tokenizer.is_null() ? "none" : words(tokenizer["kind"]) + ", " + words(tokenizer["vocab_size"]) + " ids");
    line("chat format", d["chat_format"].is_null() ? "none" : words(d["chat_format"]));
    const Json& memory = d["memory"];
    line("memory in " + words(memory["dtype"]), megabytes(memory["weights_bytes"]) + " for weights, " +
         megabytes(memory["cache_bytes"]) + " for a context of " + words(memory["context"]) + ", " +
         megabytes(memory["activation_bytes"]) + " for a chunk of " + words(memory["chunk"]));
    if (all_tensors)
        for (const Json& t : d["tensors"]) std::cout << words(t["name"]) << ' ' << t["shape"].dump() << '\n';
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Says what a model file is: shapes, types, tokenizer, and the memory it takes.", "l3-info");
    programs::CommonOptions options;
    bool json = false;
    options.add_model(app)->required();
    options.add_tokenizer(app);
    options.add_dtype(app);
    options.add_device(app);
    options.add_context(app, "Tokens to give the memory for (default: the smaller of 4096 and the model's)");
    options.add_verbose(app, "Every tensor, too");
    app.add_flag("--json", json, "One JSON object, with every tensor");
    return programs::run(app, argc, argv, [&] {
        options.require_device();
        const l3::ModelInfo info = l3::read_model_info(options.model, options.tokenizer);
        const l3::Index context = options.context.value_or(std::min<l3::Index>(4096, info.config.max_position_embeddings));
        const Json description = describe(info, context, options.dtype);
        if (json) std::cout << description.dump(4, ' ', false, Json::error_handler_t::replace) << '\n';
        else print(description, options.verbose);
    });
}
