#pragma once
// Golden logits made by others: tests/reference/golden.json (NumPy, weights from the shared generator), and the folders
// of ../shared/data/tiny (transformers in float64).
#include "read_safetensors.hpp"

namespace support {

/// The mathematical part of a config.json in the current spelling.
inline reference::LlamaConfig config_of(const nlohmann::json& json) {
    reference::LlamaConfig c;
    const nlohmann::json& rope = json.at("rope_parameters");
    c.hidden_size = json.at("hidden_size");
    c.intermediate_size = json.at("intermediate_size");
    c.num_hidden_layers = json.at("num_hidden_layers");
    c.num_attention_heads = json.at("num_attention_heads");
    c.num_key_value_heads = json.at("num_key_value_heads");
    c.head_dim = json.value("head_dim", 0);
    if (c.head_dim == 0) c.head_dim = c.hidden_size / c.num_attention_heads;
    c.vocab_size = json.at("vocab_size");
    c.max_position_embeddings = json.at("max_position_embeddings");
    c.rms_norm_eps = json.at("rms_norm_eps");
    c.rope_theta = rope.at("rope_theta");
    c.rope_type = rope.at("rope_type");
    c.rope_factor = rope.value("factor", 1.0);
    c.low_freq_factor = rope.value("low_freq_factor", 1.0);
    c.high_freq_factor = rope.value("high_freq_factor", 4.0);
    c.original_max_position_embeddings = rope.value("original_max_position_embeddings", 8192);
    c.tie_word_embeddings = json.value("tie_word_embeddings", false);
    c.attention_bias = json.value("attention_bias", false);
    c.mlp_bias = json.value("mlp_bias", false);
    return c;
}

/// One model of golden.json: logits at some positions and columns of the vocabulary.
struct Golden {
    TinyModel model;
    std::vector<Token> ids;
    std::vector<int> positions, columns;
    reference::Matrix logits;  // [positions, columns]
    double max_abs_logit = 0;  // over all positions and columns

    /// The golden part of logits at every position.
    [[nodiscard]] reference::Matrix chosen(const reference::Matrix& all) const {
        reference::Matrix part(logits.rows, logits.cols);
        for (std::size_t p = 0; p < positions.size(); ++p)
            for (std::size_t c = 0; c < columns.size(); ++c)
                part(std::int64_t(p), std::int64_t(c)) = all(positions[p], columns[c]);
        return part;
    }
};

inline std::vector<Golden> goldens() {
    std::vector<Golden> list;
    const std::string text = read_file(repository() / "tests/reference/golden.json");
    for (const nlohmann::json& json : nlohmann::json::parse(text)) {
        Golden g;
        g.model.name = json.at("name");
        g.model.config = config_of(json.at("config"));
        g.model.type = [type = json.at("dtype").get<std::string>()](const std::string&) { return type; };
        Random random{hash(g.model.name + "/ids")};
        for (int i = 0; i < json.at("tokens").get<int>(); ++i)
            g.ids.push_back(Token(random.below(g.model.config.vocab_size)));
        g.positions = json.at("positions").get<std::vector<int>>();
        g.columns = json.at("columns").get<std::vector<int>>();
        g.max_abs_logit = json.at("max_abs_logit");
        std::vector<double> values;
        for (const nlohmann::json& row : json.at("logits"))
            for (const nlohmann::json& x : row) values.push_back(x.get<double>());
        g.logits = {std::int64_t(g.positions.size()), std::int64_t(g.columns.size()), std::span<const double>(values)};
        list.push_back(std::move(g));
    }
    return list;
}

/// Folders of ../shared/data/tiny that hold what l3 does not read yet, by name.
inline bool is_unsupported(const std::string& name) {
    static constexpr std::string_view names[] = {
        "gemma2",      "gemma3",           "granite",        "meta",         "meta-llama2",
        "ministral",   "mistral-window",   "mixtral",        "olmo2",        "phi3",
        "phi3-longrope", "phi3-longrope-short", "quants",    "quants-later", "qwen2",
        "qwen2-moe",   "qwen3",            "rope-yarn",      "rope-yarn-given", "rope-yarn-mscale",
        "smollm3"};
    return std::find(std::begin(names), std::end(names), name) != std::end(names);
}

}  // namespace support
