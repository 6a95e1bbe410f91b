#pragma once
// Checkpoints of llama2.c and llama3.c with the legacy header.
// Format: https://github.com/karpathy/llama2.c, export.py (legacy_export) and run.c (read_checkpoint).
#include "../core/math.hpp"
#include "stored_tensor.hpp"
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

namespace l3::inline v0::io {

/// A checkpoint: the numbers of its header, under the names of config.json, and its tensors (all F32), under the names
/// of a Hugging Face checkpoint. The rows of q_proj and k_proj are in interleaved rotary order, as stored.
struct Llama2c {
    std::filesystem::path path;
    int hidden_size = 0;
    int intermediate_size = 0;
    int num_hidden_layers = 0;
    int num_attention_heads = 0;
    int num_key_value_heads = 0;
    int vocab_size = 0;
    int max_position_embeddings = 0;
    bool tie_word_embeddings = false;  // true: no lm_head.weight
    TensorSet tensors;
    /// The rotary tables of the file, [max_position_embeddings, head_dim / 2]: the only trace of rope_theta, which the
    /// header does not hold.
    StoredTensor rope_cos, rope_sin;
};

namespace detail {

inline Llama2c read_llama2c(const std::shared_ptr<const MappedFile>& file) {
    static_assert(std::endian::native == std::endian::little, "numbers in model files are little-endian");
    const std::string name = file->path().string();
    const std::span<const std::byte> bytes = file->bytes();
    std::int32_t header[7] = {};
    if (bytes.size() >= 8) {
        std::uint32_t magic[2] = {};
        std::memcpy(magic, bytes.data(), sizeof magic);
        if (magic[0] == 0x616B3432)
            fail<UnsupportedError>(name, " has the header 'ak42', version ", magic[1], ": ",
                                   magic[1] == 1   ? "float32 "
                                   : magic[1] == 2 ? "int8 "
                                                   : "",
                                   "llama2.c v", magic[1], " is not supported; checkpoints with the legacy header are");
    }
    if (bytes.size() < sizeof header)
        fail<FormatError>(name, " holds ", bytes.size(), " bytes; the header of a llama2.c checkpoint has ",
                          sizeof header, ": it is cut short");
    std::memcpy(header, bytes.data(), sizeof header);

    Llama2c m;
    m.path = file->path();
    const auto positive = [&](int i, const char* key) {
        const std::int64_t magnitude = i == 5 && header[i] < 0 ? -std::int64_t{header[i]} : header[i];
        if (magnitude <= 0 || magnitude > 0x7FFFFFFF)
            fail<FormatError>(name, ": the header of this llama2.c checkpoint says ", key, " ", header[i],
                              ", expected a positive number");
        return static_cast<int>(magnitude);
    };
    m.hidden_size = positive(0, "dim");
    m.intermediate_size = positive(1, "hidden_dim");
    m.num_hidden_layers = positive(2, "n_layers");
    m.num_attention_heads = positive(3, "n_heads");
    m.num_key_value_heads = positive(4, "n_kv_heads");
    m.vocab_size = positive(5, "vocab_size");
    m.max_position_embeddings = positive(6, "seq_len");
    m.tie_word_embeddings = header[5] > 0;  // a negative vocab_size: the classifier is separate
    if (m.hidden_size % m.num_attention_heads != 0 || m.hidden_size / m.num_attention_heads % 2 != 0)
        fail<FormatError>(name, ": dim ", m.hidden_size, " is not n_heads ", m.num_attention_heads,
                          " times an even number, as in a llama2.c checkpoint");
    if (m.num_attention_heads % m.num_key_value_heads != 0)
        fail<FormatError>(name, ": n_heads ", m.num_attention_heads, " is no multiple of n_kv_heads ",
                          m.num_key_value_heads);

    // Walked twice: first only adding up, so that a lie in the header is found before anything is allocated for it.
    const Index H = m.hidden_size, F = m.intermediate_size, V = m.vocab_size, L = m.num_hidden_layers;
    const Index head_dim = H / m.num_attention_heads, kv = head_dim * m.num_key_value_heads;
    const auto each = [&](const auto& visit) {
        const auto layers = [&](const char* tensor, Index rows, Index cols) { visit(tensor, L, rows, cols); };
        visit("model.embed_tokens", 0, V, H);
        layers("input_layernorm", 0, H);
        layers("self_attn.q_proj", H, H);
        layers("self_attn.k_proj", kv, H);
        layers("self_attn.v_proj", kv, H);
        layers("self_attn.o_proj", H, H);
        layers("post_attention_layernorm", 0, H);
        layers("mlp.gate_proj", F, H);
        layers("mlp.down_proj", H, F);
        layers("mlp.up_proj", F, H);
        visit("model.norm", 0, 0, H);
        visit("rope_cos", 0, m.max_position_embeddings, head_dim / 2);
        visit("rope_sin", 0, m.max_position_embeddings, head_dim / 2);
        if (!m.tie_word_embeddings) visit("lm_head", 0, V, H);
    };
    const auto full_name = [](std::string_view tensor, Index count, Index layer) {
        if (tensor.starts_with("rope_")) return std::string(tensor);
        return count ? message("model.layers.", layer, ".", tensor, ".weight") : message(tensor, ".weight");
    };
    std::uint64_t expected = sizeof header;
    std::string cut;
    each([&](std::string_view tensor, Index count, Index rows, Index cols) {
        const std::uint64_t begin = expected,
                            one = static_cast<std::uint64_t>((rows ? rows : 1) * cols) * sizeof(float);
        std::uint64_t size = 0;  // one: at most 4 * (2^31 - 1)^2
        if (!multiply_checked(one, static_cast<std::uint64_t>(count ? count : 1), size) ||
            __builtin_add_overflow(expected, size, &expected))
            fail<FormatError>(name, ": the sizes in the header overflow at '", tensor,
                              "': it is no llama2.c checkpoint");
        if (expected > bytes.size() && cut.empty())
            cut = full_name(tensor, count, static_cast<Index>((bytes.size() - begin) / one));
    });
    if (expected != bytes.size())
        fail<FormatError>(name, " holds ", bytes.size(), " bytes, expected ", expected,
                          " for a llama2.c checkpoint with dim ", H, ", hidden_dim ", F, ", n_layers ", L,
                          ", vocab_size ", header[5],
                          cut.empty() ? "" : message("; it is cut short at tensor '", cut, "'"));

    m.tensors = TensorSet(m.path);
    std::size_t at = sizeof header;
    const auto take = [&](std::string tensor, Index rows, Index cols) {
        const Shape shape = rows ? Shape{rows, cols} : Shape{cols};
        const auto size = static_cast<std::size_t>(shape.numel()) * sizeof(float);
        StoredTensor stored{std::move(tensor), StorageType::f32, shape, bytes.subspan(at, size), file};
        at += size;
        return stored;
    };
    each([&](std::string_view tensor, Index count, Index rows, Index cols) {
        for (Index i = 0; i < std::max<Index>(count, 1); ++i) {
            StoredTensor stored = take(full_name(tensor, count, i), rows, cols);
            if (tensor == "rope_cos") m.rope_cos = std::move(stored);
            else if (tensor == "rope_sin") m.rope_sin = std::move(stored);
            else m.tensors.add(std::move(stored));
        }
    });
    return m;
}

}  // namespace detail

/// Opens a checkpoint with the legacy header. The header's sizes must give exactly the file's size, which is checked
/// before anything is allocated. Throws IoError, FormatError, and UnsupportedError for the newer headers ('ak42').
[[nodiscard]] inline Llama2c open_llama2c(const std::filesystem::path& path, FileAccess access = FileAccess::map) {
    Llama2c checkpoint = detail::read_llama2c(MappedFile::open(path));
    return access == FileAccess::map ? checkpoint : detail::read_llama2c(MappedFile::open(path, access));
}

}  // namespace l3::inline v0::io
