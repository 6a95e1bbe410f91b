#pragma once
#include "../io/gguf.hpp"
#include "../io/safetensors.hpp"
#include "llama_config/from_gguf.hpp"
#include "llama_config/from_json.hpp"
#include "llama_config/from_llama2c.hpp"
#include <filesystem>

namespace l3::inline v0 {

/// The kinds of model files: a directory of Hugging Face, a GGUF file, a llama2.c checkpoint.
enum class CheckpointFormat { hugging_face, gguf, llama2c };

[[nodiscard]] constexpr std::string_view format_name(CheckpointFormat format) {
    return format == CheckpointFormat::hugging_face ? "Hugging Face directory"
           : format == CheckpointFormat::gguf       ? "GGUF"
                                                    : "llama2.c checkpoint";
}

/// A model as it lies in files, opened and understood, but nothing loaded.
struct Checkpoint {
    std::filesystem::path path;
    CheckpointFormat format = CheckpointFormat::hugging_face;
    LlamaConfig config;
    io::TensorSet tensors;          // named as in the files
    bool has_tokenizer_inside = false;  // a GGUF file with a vocabulary

    /// True if the rows of q and k are in interleaved rotary order: pairs (2i, 2i+1) instead of (i, i + Dh/2).
    [[nodiscard]] bool interleaved_rotary() const { return format != CheckpointFormat::hugging_face; }
};

/// The name in a GGUF file of a tensor of a Hugging Face checkpoint: "model.layers.3.mlp.up_proj.weight" is
/// "blk.3.ffn_up.weight".
[[nodiscard]] inline std::string gguf_tensor_name(std::string_view name) {
    struct Renamed {
        std::string_view from, to;
    };
    constexpr Renamed parts[] = {
        {"model.embed_tokens.", "token_embd."},   {"model.norm.", "output_norm."},
        {"lm_head.", "output."},                  {"input_layernorm.", "attn_norm."},
        {"post_attention_layernorm.", "ffn_norm."}, {"self_attn.q_proj.", "attn_q."},
        {"self_attn.k_proj.", "attn_k."},         {"self_attn.v_proj.", "attn_v."},
        {"self_attn.o_proj.", "attn_output."},    {"mlp.gate_proj.", "ffn_gate."},
        {"mlp.up_proj.", "ffn_up."},              {"mlp.down_proj.", "ffn_down."},
    };
    constexpr std::string_view layers = "model.layers.";
    std::string out;
    if (name.starts_with(layers)) {
        name.remove_prefix(layers.size());
        const std::size_t dot = std::min(name.find('.'), name.size() - 1) + 1;
        out.append("blk.").append(name.substr(0, dot));
        name.remove_prefix(dot);
    }
    for (const Renamed& part : parts)
        if (name.starts_with(part.from)) return out.append(part.to).append(name.substr(part.from.size()));
    return out.append(name);
}

/// Opens a directory of Hugging Face, a GGUF file or a llama2.c checkpoint (legacy header), whatever its name.
/// Reads headers only. Throws IoError (naming the path, or all files that were looked for), FormatError for damaged
/// files, and UnsupportedError for models that l3 does not know.
[[nodiscard]] inline Checkpoint open_checkpoint(const std::filesystem::path& path,
                                                io::FileAccess access = io::FileAccess::map) {
    namespace fs = std::filesystem;
    std::error_code unreadable;
    const fs::file_status status = fs::status(path, unreadable);
    require<IoError>(fs::status_known(status), path.string(), ": ", unreadable.message());
    require<IoError>(fs::exists(status), path.string(), ": no such file or directory");
    Checkpoint c;
    c.path = path;
    if (fs::is_directory(status)) {
        if (!fs::exists(path / "config.json", unreadable)) {
            require<UnsupportedError>(!fs::exists(path / "params.json", unreadable), path.string(),
                                      " holds files of Meta (params.json), which are not supported; supported are "
                                      "directories of Hugging Face, GGUF files and llama2.c checkpoints");
            fail<IoError>(path.string(),
                          " is no model directory: no config.json (expected config.json with model.safetensors, ",
                          "or with model.safetensors.index.json and its shards)");
        }
        const std::string name = (path / "config.json").string();
        const nlohmann::json json = io::read_json(path / "config.json");
        c.config = config_from_json(io::JsonObject(json, name));
        c.tensors = io::open_safetensors_directory(path, access);
        return c;
    }
    const auto begins_with = [start = io::MappedFile::open(path)](std::string_view magic) {
        return start->text().starts_with(magic);
    };
    if (begins_with("GGUF") || path.extension() == ".gguf") {
        const io::Gguf gguf = io::open_gguf(path, access);
        c.format = CheckpointFormat::gguf;
        c.config = config_from_gguf(gguf);
        c.tensors = gguf.tensors;
        c.has_tokenizer_inside = gguf.metadata.contains("tokenizer.ggml.model");
        return c;
    }
    require<UnsupportedError>(path.extension() != ".safetensors" && path.extension() != ".json", path.string(),
                              " is one file of a model; name its directory, which has config.json too");
    require<UnsupportedError>(!begins_with("PK"), path.string(),
                              " is a PyTorch file, which is not supported; supported are directories of Hugging Face, "
                              "GGUF files and llama2.c checkpoints");
    // The legacy header has no magic: any file could be one.
    io::Llama2c file = [&] {
        try {
            return io::open_llama2c(path, access);
        } catch (const FormatError& e) {
            if (path.extension() == ".bin") throw;
            fail<FormatError>(path.string(), " is no model file: not GGUF, and read as a llama2.c checkpoint, ", e.what());
        }
    }();
    c.format = CheckpointFormat::llama2c;
    c.config = config_from_llama2c(file);
    c.tensors = std::move(file.tensors);
    return c;
}

}  // namespace l3::inline v0
