#include <doctest/doctest.h>
#include <l3/model/llama_config/from_llama2c.hpp>
#include "support/tiny_model.hpp"

using namespace l3;
using doctest::Contains;
using support::TemporaryFolder;

namespace {

/// T0 as a llama2.c checkpoint whose rotary tables are those of theta.
void write(const std::filesystem::path& path, double theta, bool tied = false) {
    support::TinyModel model = support::t0();
    model.config.tie_word_embeddings = tied;
    model.write_llama2c(path);
    std::string bytes = support::read_file(path);
    const std::size_t M = 512, half = 8, head = tied ? 0 : 256 * 64 * 4,
                      tables = bytes.size() - head - 2 * M * half * 4;
    for (std::size_t p = 0; p < M; ++p)
        for (std::size_t i = 0; i < half; ++i) {
            const double angle = double(p) * std::pow(theta, -double(i) / double(half));
            const float cos = float(std::cos(angle)), sin = float(std::sin(angle));
            std::memcpy(bytes.data() + tables + (p * half + i) * 4, &cos, 4);
            std::memcpy(bytes.data() + tables + ((M + p) * half + i) * 4, &sin, 4);
        }
    support::write_file(path, bytes);
}

}  // namespace

TEST_CASE("acceptance A16: the legacy header of llama2.c, shared and unshared") {
    const TemporaryFolder folder;
    for (bool tied : {true, false}) {
        write(folder / "m.bin", 10000, tied);
        const LlamaConfig c = config_from_llama2c(io::open_llama2c(folder / "m.bin"));
        CHECK(c.hidden_size == 64);
        CHECK(c.intermediate_size == 128);
        CHECK(c.num_hidden_layers == 2);
        CHECK(c.num_attention_heads == 4);
        CHECK(c.num_key_value_heads == 2);
        CHECK(c.head_dim == 16);
        CHECK(c.vocab_size == 256);
        CHECK(c.max_position_embeddings == 512);
        CHECK(c.rms_norm_eps == 1e-5);
        CHECK(c.rope_parameters.rope_theta == 10000);
        CHECK(c.tie_word_embeddings == tied);
    }
}

TEST_CASE("llama2.c: a checkpoint made with another theta is refused, one without tables is not") {
    const TemporaryFolder folder;
    write(folder / "llama3.bin", 500000);
    CHECK_THROWS_WITH_AS((void)config_from_llama2c(io::open_llama2c(folder / "llama3.bin")), Contains("llama3.bin"),
                         UnsupportedError);
    CHECK_THROWS_WITH_AS((void)config_from_llama2c(io::open_llama2c(folder / "llama3.bin")),
                         Contains("made with a theta of about 500000 "), UnsupportedError);
    support::t0().write_llama2c(folder / "nan.bin");
    CHECK_NOTHROW((void)config_from_llama2c(io::open_llama2c(folder / "nan.bin")));
}

TEST_CASE("llama2.c: shared checkpoints, where they are at hand") {
    const auto data = support::shared_data();
    if (!data) {
        MESSAGE("no shared data: skipped");
        return;
    }
    const LlamaConfig c = config_from_llama2c(io::open_llama2c(*data / "llama2c/stories260K.bin"));
    CHECK(c.hidden_size == 64);
    CHECK(c.vocab_size == 512);
    CHECK_NOTHROW((void)config_from_llama2c(io::open_llama2c(*data / "tiny/mha-f32/model.bin")));
    CHECK_THROWS_AS((void)config_from_llama2c(io::open_llama2c(*data / "tiny/rope-theta/model.bin")), UnsupportedError);
}
