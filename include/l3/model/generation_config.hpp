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
    const auto check = [&](const char* key, const std::optional<float>& value, bool good, const char* expected) {
        if (value && !good) object.fail_type(key, json.at(key), expected);
    };
    // Of a model that does not sample the temperature is not used, whatever it is.
    check("temperature", g.temperature, !g.do_sample || g.temperature >= 0.0f, "0 (greedy) or more");
    check("top_p", g.top_p, g.top_p >= 0.0f, "0 or more (1: off)");
    check("min_p", g.min_p, g.min_p >= 0.0f && g.min_p <= 1.0f, "0 to 1");
    check("repetition_penalty", g.repetition_penalty, g.repetition_penalty > 0.0f, "more than 0");
    g.eos_token_id = llama_config::ids_from_json(object, "eos_token_id");
    return g;
}

}  // namespace l3::inline v0
