#pragma once
// Tiny random models of every variant, written in every format that can hold them. The weights come from a generator
// that tests/reference/golden.py repeats: nothing but names and shapes has to be kept in step.
#include "random.hpp"
#include "reference_llama.hpp"
#include "write_gguf.hpp"
#include "write_llama2c.hpp"
#include "write_safetensors.hpp"
#include <cstdio>
#include <functional>

namespace support {

/// How config.json spells the rotary embedding and the dtype.
enum class Spelling {
    current,  // rope_parameters with rope_theta inside, dtype
    old,      // rope_theta, rope_scaling (null or with "type" or "rope_type"), torch_dtype; no head_dim where it follows
};

/// A number as JSON has it: as many digits as a double needs.
inline std::string json_number(double x) {
    char text[40];
    std::snprintf(text, sizeof text, "%.17g", x);
    return text;
}

/// The bits of an f16 as a number.
inline double f16_value(std::uint16_t bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double size = exponent ? std::ldexp(1024 + mantissa, exponent - 25) : std::ldexp(mantissa, -24);
    return bits & 0x8000 ? -size : size;
}

/// The elements of stored data as f32, each the exact value or, for Q4_1, rounded once.
inline std::vector<float> decode(const std::string& type, const std::string& data) {
    const auto byte = [&data](std::size_t i) { return unsigned(static_cast<unsigned char>(data[i])); };
    const auto half = [&](std::size_t i) { return std::uint16_t(byte(i) | byte(i + 1) << 8); };
    std::vector<float> out;
    if (type == "F32") {
        out.resize(data.size() / 4);
        std::memcpy(out.data(), data.data(), data.size());
    } else if (type == "BF16") {
        for (std::size_t i = 0; i < data.size(); i += 2) out.push_back(float_of(std::uint32_t{half(i)} << 16));
    } else if (type == "F16") {
        for (std::size_t i = 0; i < data.size(); i += 2) out.push_back(float(f16_value(half(i))));
    } else if (type == "Q8_0") {  // f16 scale, 32 int8
        for (std::size_t b = 0; b < data.size(); b += 34)
            for (std::size_t i = 0; i < 32; ++i)
                out.push_back(float(f16_value(half(b)) * double(static_cast<signed char>(data[b + 2 + i]))));
    } else if (type == "Q4_0" || type == "Q4_1") {  // f16 scale, (f16 minimum,) 16 bytes: low nibbles, then high ones
        const std::size_t head = type == "Q4_0" ? 2 : 4;
        for (std::size_t b = 0; b < data.size(); b += head + 16)
            for (std::size_t i = 0; i < 32; ++i) {
                const int q = int(byte(b + head + i % 16) >> (i < 16 ? 0 : 4) & 15);
                const double d = f16_value(half(b));
                out.push_back(float(head == 2 ? d * (q - 8) : std::fma(d, double(q), f16_value(half(b + 2)))));
            }
    } else {
        throw std::logic_error("decode: unknown type " + type);
    }
    return out;
}

/// A random model: what it is, and how each of its tensors is stored.
struct TinyModel {
    std::string name;
    reference::LlamaConfig config;
    std::string model_type = "llama";
    /// The stored type of a tensor: F32, F16, BF16; for GGUF alone also Q8_0, Q4_0, Q4_1.
    std::function<std::string(const std::string&)> type = [](const std::string&) { return std::string("F32"); };
    int shards = 1;
    bool quantized = false;

    struct Named {
        std::string name;
        std::vector<std::int64_t> shape;
    };
    /// Names and shapes of all tensors, as in a Hugging Face checkpoint.
    [[nodiscard]] std::vector<Named> tensors() const {
        const reference::LlamaConfig& c = config;
        const std::int64_t H = c.hidden_size, F = c.intermediate_size, V = c.vocab_size;
        const std::int64_t Q = std::int64_t{c.num_attention_heads} * c.head_dim;
        const std::int64_t KV = std::int64_t{c.num_key_value_heads} * c.head_dim;
        std::vector<Named> list{{"model.embed_tokens.weight", {V, H}}};
        const auto linear = [&list](const std::string& layer, std::int64_t out, std::int64_t in, bool bias) {
            list.push_back({layer + ".weight", {out, in}});
            if (bias) list.push_back({layer + ".bias", {out}});
        };
        for (int i = 0; i < c.num_hidden_layers; ++i) {
            const std::string layer = "model.layers." + std::to_string(i) + ".";
            list.push_back({layer + "input_layernorm.weight", {H}});
            linear(layer + "self_attn.q_proj", Q, H, c.attention_bias);
            linear(layer + "self_attn.k_proj", KV, H, c.attention_bias);
            linear(layer + "self_attn.v_proj", KV, H, c.attention_bias);
            linear(layer + "self_attn.o_proj", H, Q, c.attention_bias);
            list.push_back({layer + "post_attention_layernorm.weight", {H}});
            linear(layer + "mlp.gate_proj", F, H, c.mlp_bias);
            linear(layer + "mlp.up_proj", F, H, c.mlp_bias);
            linear(layer + "mlp.down_proj", H, F, c.mlp_bias);
        }
        list.push_back({"model.norm.weight", {H}});
        if (!c.tie_word_embeddings) list.push_back({"lm_head.weight", {V, H}});
        return list;
    }

    /// The largest value of a matrix. Chosen so that rounding to bf16 costs at most half of what bf16 is granted.
    [[nodiscard]] double scale_of(const Named& tensor) const {
        const auto has = [&tensor](const char* part) { return tensor.name.find(part) != std::string::npos; };
        if (has("embed_tokens") && !config.tie_word_embeddings) return 1;
        double gain = 1.5;
        if (has("q_proj") || has("k_proj")) gain = 2;
        if (has("lm_head") || has("embed_tokens")) gain = 4;
        return gain / std::sqrt(double(tensor.shape.back()));
    }

    /// Values before they are stored: u in [-1, 1) from the stream hash(model/tensor); norms 1 + u/4, biases u/4,
    /// matrices u times a gain over the square root of their columns.
    [[nodiscard]] std::vector<float> random_values(const Named& tensor) const {
        Random random{hash(name + "/" + tensor.name)};
        const auto has = [&tensor](const char* part) { return tensor.name.find(part) != std::string::npos; };
        double scale = scale_of(tensor);
        if (has("norm") || has("bias")) scale = 0.25;  // exact, so that no contraction can change the sum below
        std::vector<float> values(1);
        for (std::int64_t n : tensor.shape) values.resize(values.size() * std::size_t(n));
        for (float& x : values) {
            const double u = random.uniform() * scale;
            x = float(has("norm") ? 1 + u : u);
        }
        return values;
    }

    /// The tensor as it is stored.
    [[nodiscard]] FileTensor stored(const Named& tensor) const {
        const std::string t = type(tensor.name);
        const std::vector<float> values = random_values(tensor);
        if (t[0] != 'Q') return file_tensor(t, tensor.name, tensor.shape, values);
        // Random blocks instead of quantised values: every bit pattern of the quants, scales of either sign.
        Random random{hash(name + "/blocks of " + tensor.name)};
        std::string data;
        const auto put_half = [&data](double x) {
            const std::uint16_t bits = nearest_f16(float(x));
            data.push_back(char(bits & 255)), data.push_back(char(bits >> 8));
        };
        for (std::size_t block = 0; block < values.size() / 32; ++block) {
            const double d = random.uniform() * 1.5 * scale_of(tensor) / (t == "Q8_0" ? 127 : 8);
            put_half(d);
            if (t == "Q4_1") put_half(d * (random.uniform() - 7.5));
            for (int i = 0; i < (t == "Q8_0" ? 32 : 16); ++i) data.push_back(char(random.next() & 255));
        }
        return {tensor.name, t, tensor.shape, data};
    }

    /// Every tensor as stored; quantised ones as the F32 they stand for, if the format has no such types.
    [[nodiscard]] std::vector<FileTensor> stored_tensors(bool with_quants = false) const {
        std::vector<FileTensor> list;
        for (const Named& tensor : tensors()) {
            FileTensor t = stored(tensor);
            if (t.type[0] == 'Q' && !with_quants) t = f32_tensor(t.name, t.shape, decode(t.type, t.data));
            list.push_back(std::move(t));
        }
        return list;
    }

    /// The weights as stored, for the reference.
    [[nodiscard]] reference::Weights weights() const {
        reference::Weights all;
        for (const FileTensor& t : stored_tensors()) {
            const std::vector<float> values = decode(t.type, t.data);
            const std::int64_t cols = t.shape.back();
            all.emplace(t.name, reference::Matrix(std::int64_t(values.size()) / cols, cols,
                                                  std::span<const float>(values)));
        }
        return all;
    }

    [[nodiscard]] reference::Matrix logits(std::span<const Token> ids,
                                           reference::Rounding round = reference::unrounded) const {
        return reference::llama(config, weights(), ids, round);
    }

    [[nodiscard]] std::string config_json(Spelling spelling = Spelling::current) const {
        const reference::LlamaConfig& c = config;
        const bool current = spelling == Spelling::current;
        std::string json = "{\n  \"architectures\": [\"" +
                           std::string(model_type == "mistral" ? "MistralForCausalLM" : "LlamaForCausalLM") + "\"]";
        const auto put = [&json](const char* key, const std::string& value) {
            json += std::string(",\n  \"") + key + "\": " + value;
        };
        const auto truth = [](bool b) { return std::string(b ? "true" : "false"); };
        put("attention_bias", truth(c.attention_bias));
        put("bos_token_id", "1");
        put(current ? "dtype" : "torch_dtype", "\"bfloat16\"");  // what the file holds counts, not this
        put("eos_token_id", "2");
        if (current || c.head_dim * c.num_attention_heads != c.hidden_size) put("head_dim", std::to_string(c.head_dim));
        put("hidden_act", "\"silu\"");
        put("hidden_size", std::to_string(c.hidden_size));
        put("intermediate_size", std::to_string(c.intermediate_size));
        put("max_position_embeddings", std::to_string(c.max_position_embeddings));
        put("mlp_bias", truth(c.mlp_bias));
        put("model_type", "\"" + model_type + "\"");
        put("num_attention_heads", std::to_string(c.num_attention_heads));
        put("num_hidden_layers", std::to_string(c.num_hidden_layers));
        put("num_key_value_heads", std::to_string(c.num_key_value_heads));
        put("rms_norm_eps", json_number(c.rms_norm_eps));
        std::string rope;
        if (c.rope_type != "default") rope += ", \"factor\": " + json_number(c.rope_factor);
        if (c.rope_type == "llama3")
            rope += ", \"low_freq_factor\": " + json_number(c.low_freq_factor) +
                    ", \"high_freq_factor\": " + json_number(c.high_freq_factor) +
                    ", \"original_max_position_embeddings\": " + std::to_string(c.original_max_position_embeddings);
        if (current) {
            put("rope_parameters", "{\"rope_theta\": " + json_number(c.rope_theta) + ", \"rope_type\": \"" +
                                       c.rope_type + "\"" + rope + "}");
        } else {
            put("rope_theta", json_number(c.rope_theta));
            const std::string key = c.rope_type == "linear" ? "type" : "rope_type";
            put("rope_scaling",
                c.rope_type == "default" ? "null" : "{\"" + key + "\": \"" + c.rope_type + "\"" + rope + "}");
        }
        if (model_type == "mistral") put("sliding_window", "null");
        put("tie_word_embeddings", truth(c.tie_word_embeddings));
        put("use_cache", "true");
        put("vocab_size", std::to_string(c.vocab_size));
        return json + "\n}\n";
    }

    /// A Hugging Face directory.
    void write_directory(const std::filesystem::path& folder, Spelling spelling = Spelling::current) const {
        std::filesystem::create_directories(folder);
        write_file(folder / "config.json", config_json(spelling));
        if (shards == 1) write_safetensors(folder / "model.safetensors", stored_tensors());
        else write_sharded_safetensors(folder, stored_tensors(), shards);
    }

    /// A GGUF file as llama.cpp's converter writes it: rows of q and k in interleaved rotary order, vectors F32, and
    /// for llama3 scaling the divisors of the frequencies. No tokenizer.
    void write_gguf(const std::filesystem::path& path, const GgufOptions& options = {}) const {
        const reference::LlamaConfig& c = config;
        std::vector<GgufMetadata> meta{{"general.architecture", std::string("llama")}, {"general.name", name}};
        const auto put = [&meta](const char* key, GgufValue value) {
            meta.push_back({std::string("llama.") + key, std::move(value)});
        };
        put("block_count", std::uint32_t(c.num_hidden_layers));
        put("context_length", std::uint32_t(c.max_position_embeddings));
        put("embedding_length", std::uint32_t(c.hidden_size));
        put("feed_forward_length", std::uint32_t(c.intermediate_size));
        put("attention.head_count", std::uint32_t(c.num_attention_heads));
        put("attention.head_count_kv", std::uint32_t(c.num_key_value_heads));
        put("attention.layer_norm_rms_epsilon", float(c.rms_norm_eps));
        put("attention.key_length", std::uint32_t(c.head_dim));
        put("attention.value_length", std::uint32_t(c.head_dim));
        put("rope.dimension_count", std::uint32_t(c.head_dim));
        put("rope.freq_base", float(c.rope_theta));
        put("vocab_size", std::uint32_t(c.vocab_size));
        if (c.rope_type == "linear") {
            put("rope.scaling.type", std::string("linear"));
            put("rope.scaling.factor", float(c.rope_factor));
        }
        std::vector<FileTensor> list;
        for (FileTensor t : stored_tensors(true)) {
            if (t.name.find("q_proj") != std::string::npos || t.name.find("k_proj") != std::string::npos)
                t.data = interleaved(t.data, t.shape[0]);
            if (t.shape.size() == 1) t = f32_tensor(t.name, t.shape, decode(t.type, t.data));
            t.name = gguf_name(t.name);
            list.push_back(std::move(t));
        }
        if (c.rope_type == "llama3") {
            reference::LlamaConfig plain = c;
            plain.rope_type = "default";
            const std::vector<double> from = reference::rope_inv_freq(plain), to = reference::rope_inv_freq(c);
            std::vector<float> divisors;
            for (std::size_t i = 0; i < from.size(); ++i) divisors.push_back(float(from[i] / to[i]));
            list.push_back(f32_tensor("rope_freqs.weight", {std::int64_t(divisors.size())}, divisors));
        }
        support::write_gguf(path, meta, list, options);
    }

    /// llama2.c's legacy checkpoint says neither theta, eps, head_dim nor biases.
    [[nodiscard]] bool fits_llama2c() const {
        return config.rope_type == "default" && config.rope_theta == 10000 && config.rms_norm_eps == 1e-5 &&
               config.head_dim * config.num_attention_heads == config.hidden_size && !config.attention_bias &&
               !config.mlp_bias;
    }
    void write_llama2c(const std::filesystem::path& path) const {
        std::map<std::string, std::vector<float>> all;
        for (const FileTensor& t : stored_tensors()) {
            std::vector<float> values = decode(t.type, t.data);
            if (t.name.find("q_proj") != std::string::npos || t.name.find("k_proj") != std::string::npos)
                values = decode("F32", interleaved(raw_bytes(std::span<const float>(values)), t.shape[0]));
            all.emplace(t.name, std::move(values));
        }
        support::write_llama2c(path,
                               {config.hidden_size, config.intermediate_size, config.num_hidden_layers,
                                config.num_attention_heads, config.num_key_value_heads, config.vocab_size,
                                config.max_position_embeddings},
                               all);
    }

    static std::string gguf_name(const std::string& name) {
        if (name == "model.embed_tokens.weight") return "token_embd.weight";
        if (name == "model.norm.weight") return "output_norm.weight";
        if (name == "lm_head.weight") return "output.weight";
        constexpr std::pair<const char*, const char*> parts[] = {
            {"input_layernorm", "attn_norm"},  {"self_attn.q_proj", "attn_q"},      {"self_attn.k_proj", "attn_k"},
            {"self_attn.v_proj", "attn_v"},    {"self_attn.o_proj", "attn_output"}, {"post_attention_layernorm", "ffn_norm"},
            {"mlp.gate_proj", "ffn_gate"},     {"mlp.up_proj", "ffn_up"},           {"mlp.down_proj", "ffn_down"}};
        const std::string layer = name.substr(13, name.find('.', 13) - 13);
        for (const auto& [theirs, ours] : parts)
            if (const std::size_t at = name.find(theirs); at != std::string::npos)
                return "blk." + layer + "." + ours + name.substr(at + std::string_view(theirs).size());
        throw std::logic_error("gguf_name: " + name);
    }

  private:
    /// Rows (or elements of a bias) of every head reordered: pairs (i, i + Dh/2) become neighbours (2i, 2i + 1).
    [[nodiscard]] std::string interleaved(const std::string& data, std::int64_t rows) const {
        const std::size_t row = data.size() / std::size_t(rows), half = std::size_t(config.head_dim) / 2;
        std::string out;
        for (std::size_t head = 0; head < std::size_t(rows); head += 2 * half)
            for (std::size_t i = 0; i < 2 * half; ++i)
                out += data.substr((head + i / 2 + (i % 2) * half) * row, row);
        return out;
    }
};

/// One stored type for everything.
inline std::function<std::string(const std::string&)> all(const char* type) {
    return [type](const std::string&) { return std::string(type); };
}

/// T0 of the acceptance items: hidden 64, 4 heads, 2 kv heads, head_dim 16, 2 layers, intermediate 128, vocab 256.
inline TinyModel t0(const char* type = "F32") {
    TinyModel m;
    m.name = "t0";
    m.type = all(type);
    return m;
}

/// T1: hidden 56, 6 heads of 16, which is not hidden / heads.
inline TinyModel t1(const char* type = "F32") {
    TinyModel m = t0(type);
    m.name = "t1";
    m.config.hidden_size = 56;
    m.config.num_attention_heads = 6;
    return m;
}

/// Every variant that must open: heads, sizes, biases, ties, rotary scalings, stored types, shards.
inline std::vector<TinyModel> tiny_models() {
    std::vector<TinyModel> list;
    const auto add = [&list](const char* name, const char* type, auto change) {
        TinyModel m = t0(type);
        m.name = name;
        change(m, m.config);
        list.push_back(std::move(m));
    };
    using Config = reference::LlamaConfig;
    list.push_back(t0());
    list.push_back(t1());
    add("t0-bf16", "BF16", [](TinyModel&, Config&) {});
    add("mha", "F32", [](TinyModel&, Config& c) {
        c.hidden_size = 48, c.num_attention_heads = c.num_key_value_heads = 3, c.vocab_size = 131;
    });
    add("mqa", "BF16", [](TinyModel&, Config& c) { c.num_key_value_heads = 1, c.num_hidden_layers = 3; });
    add("tied", "BF16", [](TinyModel&, Config& c) { c.tie_word_embeddings = true; });
    add("f16", "F16", [](TinyModel&, Config& c) { c.vocab_size = 100, c.rms_norm_eps = 1e-6; });
    add("head-dim", "BF16", [](TinyModel&, Config& c) { c.head_dim = 24, c.hidden_size = 48; });
    add("wide-heads", "F32", [](TinyModel&, Config& c) {
        c.head_dim = 128, c.hidden_size = 40, c.num_attention_heads = 2, c.num_key_value_heads = 1;
    });
    add("odd-sizes", "BF16", [](TinyModel&, Config& c) {
        c.hidden_size = 37, c.intermediate_size = 53, c.vocab_size = 101, c.head_dim = 10;
        c.num_attention_heads = 3, c.num_key_value_heads = 1;
    });
    add("smallest", "F32", [](TinyModel&, Config& c) {
        c.hidden_size = 2, c.intermediate_size = 1, c.vocab_size = 3, c.head_dim = 2, c.num_hidden_layers = 1;
        c.num_attention_heads = 1, c.num_key_value_heads = 1;
    });
    add("biases", "F32", [](TinyModel&, Config& c) { c.attention_bias = c.mlp_bias = true; });
    add("attention-bias", "BF16", [](TinyModel&, Config& c) { c.attention_bias = c.tie_word_embeddings = true; });
    add("theta", "F32", [](TinyModel&, Config& c) { c.rope_theta = 500000; });
    add("rope-linear", "BF16", [](TinyModel&, Config& c) { c.rope_type = "linear", c.rope_factor = 4; });
    add("rope-llama3", "F32", [](TinyModel&, Config& c) {
        c.rope_type = "llama3", c.rope_factor = 8, c.rope_theta = 500000, c.original_max_position_embeddings = 128;
        c.head_dim = 32, c.num_attention_heads = 2, c.num_key_value_heads = 1, c.tie_word_embeddings = true;
    });
    add("long-rows", "BF16", [](TinyModel&, Config& c) {
        c.hidden_size = 1060, c.intermediate_size = 1100, c.num_hidden_layers = 1, c.vocab_size = 50;
    });
    add("mixed-dtypes", "BF16", [](TinyModel& m, Config&) {
        m.type = [](const std::string& name) {
            return std::string(name.find("norm") != std::string::npos ? "F32"
                               : name.find("mlp") != std::string::npos ? "F16"
                               : name.find("v_proj") != std::string::npos || name.find("lm_head") != std::string::npos
                                   ? "F32"
                                   : "BF16");
        };
    });
    add("sharded", "BF16", [](TinyModel& m, Config& c) { m.shards = 3, c.num_hidden_layers = 3; });
    add("mistral", "BF16", [](TinyModel& m, Config& c) { m.model_type = "mistral", c.rope_theta = 1e6; });
    add("quantized", "BF16", [](TinyModel& m, Config& c) {
        m.quantized = true, c.tie_word_embeddings = true;
        m.type = [](const std::string& name) {
            return std::string(name.find("norm") != std::string::npos        ? "F32"
                               : name.find("embed") != std::string::npos     ? "Q8_0"
                               : name.find("q_proj") != std::string::npos    ? "Q4_1"
                               : name.find("k_proj") != std::string::npos    ? "Q8_0"
                               : name.find("down_proj") != std::string::npos ? "Q4_0"
                                                                             : "Q4_1");
        };
    });
    return list;
}

}  // namespace support
