#pragma once
#include "../io/json.hpp"
#include "llama_config/from_json.hpp"

namespace l3::inline v0 {

/// How a model wants its tokens chosen, fields as in generation_config.json; what the file does not say is absent.
struct GenerationConfig {
    bool do_sample = false;
    std::optional<float> temperature, top_p, min_p, repetition_penalty;
    std::optional<int> top_k;
    std::vector<Token> eos_token_id;
};

/// Reads generation_config.json of a directory; of a directory without one, nothing. Other keys are of no concern.
/// Throws FormatError naming file and key.
[[nodiscard]] inline GenerationConfig read_generation_config(const std::filesystem::path& directory) {
    GenerationConfig g;
    const std::filesystem::path path = directory / "generation_config.json";
    std::error_code unreadable;
    if (!std::filesystem::exists(path, unreadable)) return g;
    const nlohmann::json json = io::read_json(path);
    const io::JsonObject object(json, path.string());
    g.do_sample = object.get_or("do_sample", false);
    g.temperature = object.find<float>("temperature");
    g.top_p = object.find<float>("top_p");
    g.min_p = object.find<float>("min_p");
    g.repetition_penalty = object.find<float>("repetition_penalty");
    g.top_k = object.find<int>("top_k");
    g.eos_token_id = llama_config::ids_from_json(object, "eos_token_id");
    return g;
}

}  // namespace l3::inline v0
