#pragma once
#include "../checkpoint.hpp"
#include <charconv>
#include <limits>
#include <optional>
#include <set>

namespace l3::inline v0::loading {

/// The tensors of a checkpoint as the model expects them: found by their Hugging Face name, checked, and ticked off.
class ExpectedTensors {
  public:
    explicit ExpectedTensors(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

    [[nodiscard]] std::string name_in_file(std::string_view name) const {
        return checkpoint_.format == CheckpointFormat::gguf ? gguf_tensor_name(name) : std::string(name);
    }
    [[nodiscard]] bool contains(std::string_view name) const {
        return checkpoint_.tensors.contains(name_in_file(name));
    }

    /// Throws FormatError naming file, tensor, the shape found and the one expected (in numbers and in words), or that
    /// there is no such tensor; UnsupportedError naming tensor and type if its type cannot be read.
    const io::StoredTensor& take(std::string_view name, const Shape& shape, std::string_view in_words) {
        const io::StoredTensor& found = checkpoint_.tensors.at(name_in_file(name));
        require<FormatError>(found.shape == shape, found.where(), " has the shape ", found.shape, ", expected ", shape,
                             ": ", in_words);
        require<UnsupportedError>(io::can_convert(found.type), found.where(), " has the type ",
                                  io::storage_name(found.type), "; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are read");
        used_.insert(&found);
        return found;
    }
    /// The output matrix of a tied model may be there too, and is not needed.
    void allow(std::string_view name) {
        if (const io::StoredTensor* found = checkpoint_.tensors.find(name_in_file(name))) used_.insert(found);
    }

    /// Throws, naming a tensor that nobody took although it belongs to a part that was taken: FormatError for one of a
    /// layer that the config does not count, UnsupportedError for a norm or bias that this model has and l3 would leave
    /// out. Tensors of other parts, and what follows from the config (rotary_emb.inv_freq), are of no concern.
    void refuse_leftovers() const {
        const int layers = checkpoint_.config.num_hidden_layers;
        for (const io::StoredTensor& t : checkpoint_.tensors) {
            if (used_.contains(&t) || follows_from_config(t.name)) continue;
            const std::optional<Index> layer = layer_of(t.name);
            require<FormatError>(!layer || *layer < layers, t.where(), " is of a layer beyond the ", layers,
                                 " that the config counts (", gguf() ? "llama.block_count" : "num_hidden_layers", ")");
            require<UnsupportedError>(!layer && !belongs(t.name), t.where(),
                                      " is not known: l3 does not know what it changes in the model");
        }
    }

  private:
    [[nodiscard]] bool gguf() const { return checkpoint_.format == CheckpointFormat::gguf; }
    static bool follows_from_config(std::string_view name) {
        return name.ends_with("rotary_emb.inv_freq") || name.ends_with("attn_rot_embd.weight");
    }
    [[nodiscard]] std::optional<Index> layer_of(std::string_view name) const {
        const std::string_view layers = gguf() ? "blk." : "model.layers.";
        if (!name.starts_with(layers)) return std::nullopt;
        const std::string_view rest = name.substr(layers.size());
        Index layer = 0;
        const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), layer);
        if (error == std::errc::result_out_of_range) return std::numeric_limits<Index>::max();
        return error == std::errc() ? std::optional(layer) : std::nullopt;
    }
    [[nodiscard]] bool belongs(std::string_view name) const {
        if (gguf())
            return name.starts_with("output") || name.starts_with("token_embd") || name.starts_with("rope_factors");
        return name.starts_with("lm_head.") || name.starts_with("model.norm.") ||
               name.starts_with("model.embed_tokens.");
    }

    const Checkpoint& checkpoint_;
    std::set<const io::StoredTensor*> used_;
};

}  // namespace l3::inline v0::loading
