#include <doctest/doctest.h>
#include <l3/io/convert.hpp>
#include <l3/io/llama2c.hpp>
#include <l3/io/safetensors.hpp>
#include "support/error_text.hpp"
#include "support/mutate.hpp"
#include "support/write_llama2c.hpp"

using namespace l3;
using support::mentions;

namespace {

constexpr support::Llama2cHeader header = {8, 12, 2, 4, 2, 10, 6};  // H, F, L, Nq, Nkv, V, positions; Dh is 2

std::map<std::string, std::vector<float>> weights(bool untied) {
    std::map<std::string, std::vector<float>> all;
    float next = 0;
    const auto add = [&](const std::string& name, std::size_t n) {
        std::vector<float>& values = all[name];
        while (values.size() < n) values.push_back(next++);
    };
    add("model.embed_tokens.weight", 80);
    add("model.norm.weight", 8);
    if (untied) add("lm_head.weight", 80);
    for (int i = 0; i < 2; ++i) {
        const std::string layer = "model.layers." + std::to_string(i) + ".";
        for (const char* norm : {"input_layernorm.weight", "post_attention_layernorm.weight"}) add(layer + norm, 8);
        for (const char* square : {"self_attn.q_proj.weight", "self_attn.o_proj.weight"}) add(layer + square, 64);
        for (const char* kv : {"self_attn.k_proj.weight", "self_attn.v_proj.weight"}) add(layer + kv, 32);
        for (const char* mlp : {"mlp.gate_proj.weight", "mlp.up_proj.weight", "mlp.down_proj.weight"})
            add(layer + mlp, 96);
    }
    return all;
}

template <class E = FormatError>
std::string refused(const support::TemporaryFolder& folder, const std::string& bytes) {
    support::write_file(folder / "f.bin", bytes);
    std::string text = support::error_text<E>([&] { (void)io::open_llama2c(folder / "f.bin"); });
    const std::string prefix = folder.path().string() + "/";
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
    return text;
}

/// The checkpoint with one number of its header replaced.
std::string with_number(int i, std::int32_t number) {
    std::string bytes = support::llama2c_bytes(header, weights(false));
    std::memcpy(bytes.data() + 4 * i, &number, sizeof number);
    return bytes;
}

}  // namespace

TEST_CASE("acceptance A16: legacy llama2.c checkpoints, classifier shared and unshared") {
    const support::TemporaryFolder folder;
    for (bool untied : {false, true})
        for (io::FileAccess access : {io::FileAccess::map, io::FileAccess::read}) {
            CAPTURE(untied);
            support::write_llama2c(folder / "f.bin", header, weights(untied));
            const io::Llama2c m = io::open_llama2c(folder / "f.bin", access);
            CHECK(m.hidden_size == 8);
            CHECK(m.intermediate_size == 12);
            CHECK(m.num_hidden_layers == 2);
            CHECK(m.num_attention_heads == 4);
            CHECK(m.num_key_value_heads == 2);
            CHECK(m.vocab_size == 10);
            CHECK(m.max_position_embeddings == 6);
            CHECK(m.tie_word_embeddings == !untied);
            CHECK(m.tensors.size() == weights(untied).size());
            for (const auto& [name, values] : weights(untied)) {
                CAPTURE(name);
                const io::StoredTensor& t = m.tensors.at(name);
                CHECK(t.type == io::StorageType::f32);
                CHECK(std::ranges::equal(t.data, std::as_bytes(std::span(values))));
                CHECK(io::usable_in_place<f32>(t));
            }
            CHECK(m.tensors.at("model.layers.1.self_attn.k_proj.weight").shape == Shape{4, 8});
            CHECK(m.tensors.at("model.layers.1.mlp.down_proj.weight").shape == Shape{8, 12});
            CHECK(m.tensors.at("model.embed_tokens.weight").shape == Shape{10, 8});
            CHECK(m.tensors.at("model.norm.weight").shape == Shape{8});
            CHECK(m.tensors.contains("lm_head.weight") == untied);
            CHECK(m.rope_cos.shape == Shape{6, 1});
            CHECK(m.rope_sin.shape == Shape{6, 1});
        }
}

TEST_CASE("acceptance A16: newer llama2.c headers are refused by name, and headers that cannot be by number") {
    const support::TemporaryFolder folder;
    const auto ak42 = [](char version) { return std::string("24ka") + version + std::string(300, '\0'); };
    CHECK(refused<UnsupportedError>(folder, ak42('\2')) ==
          "f.bin has the header 'ak42', version 2: int8 llama2.c v2 is not supported; checkpoints with the legacy "
          "header are");
    CHECK(refused<UnsupportedError>(folder, ak42('\1')) ==
          "f.bin has the header 'ak42', version 1: float32 llama2.c v1 is not supported; checkpoints with the legacy "
          "header are");
    CHECK(mentions(refused<UnsupportedError>(folder, ak42('\7')), {"version 7: llama2.c v7 is not supported"}));
    CHECK(refused(folder, with_number(0, 0)) ==
          "f.bin: the header of this llama2.c checkpoint says dim 0, expected a positive number");
    CHECK(refused(folder, with_number(0, -5)) ==
          "f.bin: the header of this llama2.c checkpoint says dim -5, expected a positive number");
    CHECK(mentions(refused(folder, with_number(1, 0)), {"says hidden_dim 0"}));
    CHECK(mentions(refused(folder, with_number(2, -1)), {"says n_layers -1"}));
    CHECK(mentions(refused(folder, with_number(3, 0)), {"says n_heads 0"}));
    CHECK(mentions(refused(folder, with_number(4, 0)), {"says n_kv_heads 0"}));
    CHECK(mentions(refused(folder, with_number(5, 0)), {"says vocab_size 0"}));
    CHECK(mentions(refused(folder, with_number(5, -2147483647 - 1)), {"says vocab_size -2147483648"}));
    CHECK(mentions(refused(folder, with_number(6, 0)), {"says seq_len 0"}));
    CHECK(refused(folder, with_number(3, 3)) ==
          "f.bin: dim 8 is not n_heads 3 times an even number, as in a llama2.c checkpoint");
    CHECK(mentions(refused(folder, with_number(3, 8)), {"dim 8 is not n_heads 8 times an even number"}));
    CHECK(refused(folder, with_number(4, 3)) == "f.bin: n_heads 4 is no multiple of n_kv_heads 3");
    CHECK(mentions(refused(folder, with_number(5, 11)),
                   {"f.bin holds ", ", expected ", "vocab_size 11; it is cut short at tensor 'rope_cos'"}));
    CHECK(
        mentions(refused(folder, with_number(5, -10)), {"vocab_size -10; it is cut short at tensor 'lm_head.weight'"}));
    CHECK(mentions(refused(folder, with_number(2, 0x7FFFFFFF)),
                   {"n_layers 2147483647", "cut short at tensor 'model.layers."}));
    CHECK(mentions(refused(folder, with_number(1, 0x7FFFFFFF)),
                   {"hidden_dim 2147483647", "cut short at tensor 'model.layers.0.mlp.gate_proj.weight'"}));
}

TEST_CASE("acceptance A04: truncated llama2.c checkpoints name the tensor, and the sizes found and expected") {
    const support::TemporaryFolder folder;
    for (bool untied : {false, true}) {
        const std::string whole = support::llama2c_bytes(header, weights(untied));
        CHECK(refused(folder, whole.substr(0, whole.size() - 1)) ==
              message("f.bin holds ", whole.size() - 1, " bytes, expected ", whole.size(),
                      " for a llama2.c checkpoint with dim 8, hidden_dim 12, n_layers 2, vocab_size ",
                      untied ? -10 : 10, "; it is cut short at tensor '", untied ? "lm_head.weight" : "rope_sin", "'"));
        CHECK(mentions(refused(folder, whole.substr(0, whole.size() - 1024)),
                       {message("holds ", whole.size() - 1024, " bytes, expected ", whole.size()), "cut short"}));
        CHECK(mentions(refused(folder, whole.substr(0, 28)),
                       {"f.bin holds 28 bytes", "cut short at tensor 'model.embed_tokens.weight'"}));
        CHECK(mentions(refused(folder, whole.substr(0, 28 + 320 + 32 + 4)),
                       {"cut short at tensor 'model.layers.1.input_layernorm.weight'"}));
        for (std::size_t n : {std::size_t{27}, std::size_t{8}, std::size_t{7}, std::size_t{0}})
            CHECK(refused(folder, whole.substr(0, n)) ==
                  message("f.bin holds ", n, " bytes; the header of a llama2.c checkpoint has 28: it is cut short"));
        CHECK(mentions(refused(folder, whole + "x"), {message("f.bin holds ", whole.size() + 1, " bytes, expected ",
                                                              whole.size(), " for a llama2.c checkpoint")}));
    }
}

TEST_CASE("acceptance A03: a Git LFS pointer instead of a llama2.c checkpoint") {
    const support::TemporaryFolder folder;
    CHECK(mentions(refused(folder, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"),
                   {"f.bin", "Git LFS"}));
}

TEST_CASE("llama2.c: whatever is damaged, a typed error or tensors come out") {
    const support::TemporaryFolder folder;
    const std::string whole = support::llama2c_bytes(header, weights(true));
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        CAPTURE(seed);
        support::write_file(folder / "f.bin", support::mutate(whole, 28, seed));
        try {
            for (const io::StoredTensor& t : io::open_llama2c(folder / "f.bin").tensors)
                REQUIRE(t.data.size() == std::size_t(t.shape.numel()) * 4);
        } catch (const Error& e) { REQUIRE(mentions(e.what(), {"f.bin"})); }
    }
}

TEST_CASE("llama2.c: the checkpoints of the shared data open") {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("SKIPPED: no shared data");
        return;
    }
    const io::Llama2c stories = io::open_llama2c(*shared / "llama2c/stories260K.bin");
    CHECK(stories.hidden_size == 64);
    CHECK(stories.intermediate_size == 172);
    CHECK(stories.num_hidden_layers == 5);
    CHECK(stories.num_key_value_heads == 4);
    CHECK(stories.vocab_size == 512);
    CHECK(stories.tie_word_embeddings);
    for (const char* name : {"mha-f32", "gqa-bf16", "rope-theta"}) {
        CAPTURE(name);
        const io::Llama2c m = io::open_llama2c(*shared / "tiny" / name / "model.bin");
        const io::TensorSet hf = io::open_safetensors_directory(*shared / "tiny" / name);
        for (const io::StoredTensor& t : m.tensors) {  // all but q and k are the same rows
            CAPTURE(t.name);
            const io::StoredTensor& other = hf.at(t.name);
            CHECK(other.shape == t.shape);
            if (t.name.find("q_proj") != t.name.npos || t.name.find("k_proj") != t.name.npos) continue;
            std::vector<float> a(static_cast<std::size_t>(t.shape.numel())), b(a.size());
            io::convert_rows(t, 0, t.shape.rows(), a.data());
            io::convert_rows(other, 0, t.shape.rows(), b.data());
            CHECK(a == b);
        }
        CHECK(m.tensors.size() == hf.size());
        CHECK(
            mentions(support::error_text<Error>([&] { (void)io::open_llama2c(*shared / "tiny/mha-f32/model_v1.bin"); }),
                     {"'ak42', version 1"}));
    }
}
