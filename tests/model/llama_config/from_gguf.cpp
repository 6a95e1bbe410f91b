#include <doctest/doctest.h>
#include <l3/model/llama_config/from_gguf.hpp>
#include "support/write_gguf.hpp"

using namespace l3;
using doctest::Contains;
using support::GgufMetadata;
using support::TemporaryFolder;

namespace {

/// A GGUF file of T0 with some metadata changed or added, and no tensors but the embedding and the given ones.
LlamaConfig read(std::vector<GgufMetadata> changes, std::vector<std::string> without = {},
                 std::vector<support::FileTensor> tensors = {}) {
    std::vector<GgufMetadata> metadata{{"general.architecture", std::string("llama")},
                                       {"llama.block_count", std::uint32_t(2)},
                                       {"llama.context_length", std::uint32_t(512)},
                                       {"llama.embedding_length", std::uint32_t(64)},
                                       {"llama.feed_forward_length", std::uint32_t(128)},
                                       {"llama.attention.head_count", std::uint32_t(4)},
                                       {"llama.attention.head_count_kv", std::uint32_t(2)},
                                       {"llama.attention.layer_norm_rms_epsilon", 1e-5f},
                                       {"llama.vocab_size", std::uint32_t(256)}};
    for (GgufMetadata& change : changes) without.push_back(change.key);
    std::erase_if(metadata, [&](const GgufMetadata& m) { return std::ranges::find(without, m.key) != without.end(); });
    metadata.insert(metadata.end(), changes.begin(), changes.end());
    const std::vector<float> zeros(64 * 100);
    tensors.push_back(support::f32_tensor("token_embd.weight", {100, 64}, zeros));
    const TemporaryFolder folder;
    support::write_gguf(folder / "m.gguf", metadata, tensors);
    return config_from_gguf(io::open_gguf(folder / "m.gguf"));
}

template <class E>
void refuses(std::vector<GgufMetadata> changes, const char* text) {
    CHECK_THROWS_WITH_AS((void)read(changes), Contains(text), E);
    CHECK_THROWS_WITH_AS((void)read(changes), Contains("m.gguf: "), E);
}

}  // namespace

TEST_CASE("GGUF: metadata of the architecture llama") {
    const LlamaConfig c = read({});
    CHECK(c.hidden_size == 64);
    CHECK(c.intermediate_size == 128);
    CHECK(c.num_hidden_layers == 2);
    CHECK(c.num_attention_heads == 4);
    CHECK(c.num_key_value_heads == 2);
    CHECK(c.head_dim == 16);
    CHECK(c.vocab_size == 256);
    CHECK(c.max_position_embeddings == 512);
    CHECK(f32(c.rms_norm_eps) == 1e-5f);
    CHECK(c.rope_parameters.rope_theta == 10000);
    CHECK(c.rope_parameters.rope_type == RopeType::unscaled);
    CHECK_FALSE(c.attention_bias);
    CHECK_FALSE(c.tie_word_embeddings.has_value());
    CHECK(c.eos_token_id.empty());

    CHECK(read({}, {"llama.attention.head_count_kv"}).num_key_value_heads == 4);
    CHECK(read({}, {"llama.vocab_size"}).vocab_size == 100);  // the rows of the embedding
    CHECK(read({{"llama.rope.freq_base", 500000.0f}}).rope_parameters.rope_theta == 500000);
    const LlamaConfig ids =
        read({{"tokenizer.ggml.bos_token_id", std::uint32_t(7)}, {"tokenizer.ggml.eos_token_id", std::uint32_t(8)}});
    CHECK(ids.bos_token_id == 7);
    CHECK(ids.eos_token_id == std::vector<Token>{8});
}

TEST_CASE("GGUF: linear scaling, as old and new converters write it") {
    const auto factor = [](std::vector<GgufMetadata> changes) {
        const RopeParameters rope = read(std::move(changes)).rope_parameters;
        return rope.rope_type == RopeType::linear ? rope.factor : 0.0;
    };
    CHECK(factor({{"llama.rope.scaling.type", std::string("linear")}, {"llama.rope.scaling.factor", 4.0f}}) == 4);
    CHECK(factor({{"llama.rope.scaling.factor", 4.0f}}) == 4);
    CHECK(factor({{"llama.rope.scale_linear", 2.0f}}) == 2);
    CHECK(factor({{"llama.rope.scaling.type", std::string("none")}, {"llama.rope.scaling.factor", 4.0f}}) == 0);
    CHECK(factor({{"llama.rope.scaling.factor", 0.0f}}) == 0);
    refuses<UnsupportedError>({{"llama.rope.scaling.type", std::string("yarn")}},
                              "rope scaling type 'yarn' is not supported");
    refuses<UnsupportedError>({{"llama.rope.scaling.attn_factor", 1.5f}},
                              "'llama.rope.scaling.attn_factor' is 1.5, expected 1");
}

TEST_CASE("acceptance A10: GGUF's rope_freqs.weight divides the frequencies") {
    const std::vector<float> divisors{1, 2, 4, 8, 8, 8, 8, 32};
    const LlamaConfig c = read({}, {}, {support::f32_tensor("rope_freqs.weight", {8}, divisors)});
    CHECK(c.rope_parameters.divisors == std::vector<double>(divisors.begin(), divisors.end()));
    CHECK_THROWS_WITH_AS(
        (void)read({}, {}, {support::f32_tensor("rope_freqs.weight", {4}, std::span(divisors).first(4))}),
        Contains("4 rope divisors, expected head_dim / 2 = 8"), FormatError);
}

TEST_CASE("acceptance A13: GGUF's key_length and value_length are head_dim") {
    CHECK(read({{"llama.attention.key_length", std::uint32_t(24)}, {"llama.attention.value_length", std::uint32_t(24)}})
              .head_dim == 24);
    refuses<UnsupportedError>({{"llama.attention.value_length", std::uint32_t(24)}},
                              "'llama.attention.value_length' is 24, expected the length of keys, 16");
    refuses<UnsupportedError>({{"llama.rope.dimension_count", std::uint32_t(8)}}, "'llama.rope.dimension_count' is 8");
    refuses<FormatError>({{"llama.attention.head_count", std::uint32_t(5)}}, "head_dim is not given");
}

TEST_CASE("GGUF: what is not understood is refused by name") {
    refuses<UnsupportedError>({{"general.architecture", std::string("bloom")}},
                              "architecture 'bloom' is not supported; supported is llama");
    refuses<UnsupportedError>({{"general.type", std::string("adapter")}}, "'adapter'");
    refuses<UnsupportedError>({{"llama.expert_count", std::uint32_t(8)}}, "'llama.expert_count' is 8, expected 0");
    refuses<UnsupportedError>({{"llama.attention.scale", 0.2f}}, "'llama.attention.scale' is not known");
    refuses<UnsupportedError>({{"llama.attention.sliding_window", std::uint32_t(16)}},
                              "sliding_window' is 16, less than the context length 512");
    CHECK_NOTHROW((void)read({{"llama.expert_count", std::uint32_t(0)},
                              {"llama.attention.sliding_window", std::uint32_t(512)},
                              {"llama.tensor_data_layout", std::string("Meta AI original pth")},
                              {"quantize.imatrix.file", std::string("x")}}));
    refuses<FormatError>({{"llama.block_count", std::uint32_t(0)}}, "num_hidden_layers is 0");
    refuses<FormatError>({{"llama.embedding_length", std::uint32_t(0)}, {"llama.rope.dimension_count", std::uint32_t(12)}},
                         "'llama.embedding_length' is 0, expected a positive number");
    refuses<FormatError>({{"llama.block_count", std::uint32_t(4294967295)}}, "'llama.block_count' is u32 4294967295");
    refuses<FormatError>({{"llama.attention.head_count", std::vector<std::uint32_t>{4, 4}}},
                         "'llama.attention.head_count' is array");
    CHECK_THROWS_WITH_AS((void)read({}, {"llama.context_length"}), Contains("no metadata 'llama.context_length'"),
                         FormatError);
}

TEST_CASE("GGUF: biases are there if the file has them") {
    const std::vector<float> bias(64);
    const LlamaConfig c = read({}, {}, {support::f32_tensor("blk.0.attn_q.bias", {64}, bias)});
    CHECK(c.attention_bias);
    CHECK_FALSE(c.mlp_bias);
}
