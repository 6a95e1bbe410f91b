#include <doctest/doctest.h>
#include <l3/model/llama_config.hpp>

using namespace l3;
using doctest::Contains;

namespace {

LlamaConfig sane() {
    LlamaConfig c;
    c.hidden_size = 64;
    c.intermediate_size = 128;
    c.num_hidden_layers = 2;
    c.num_attention_heads = 4;
    c.num_key_value_heads = 2;
    c.head_dim = 16;
    c.vocab_size = 256;
    return c;
}

LlamaConfig with(auto change) {
    LlamaConfig c = sane();
    change(c);
    return c;
}

}  // namespace

TEST_CASE("check_config accepts any sizes that fit together") {
    CHECK_NOTHROW(check_config(sane(), "here"));
    CHECK_NOTHROW(check_config(with([](LlamaConfig& c) { c.hidden_size = 57, c.intermediate_size = 1; }), "here"));
    CHECK_NOTHROW(check_config(with([](LlamaConfig& c) { c.vocab_size = 2147483647; }), "here"));
}

TEST_CASE("check_config names the place, the field, and what it found") {
    const auto throws = [](auto change, const char* text) {
        CHECK_THROWS_WITH_AS(check_config(with(change), "x/config.json"), text, FormatError);
    };
    throws([](LlamaConfig& c) { c.hidden_size = 0; }, "x/config.json: hidden_size is 0, expected a positive number");
    throws([](LlamaConfig& c) { c.vocab_size = -5; }, "x/config.json: vocab_size is -5, expected a positive number");
    throws([](LlamaConfig& c) { c.num_hidden_layers = 0; },
           "x/config.json: num_hidden_layers is 0, expected a positive number");
    throws([](LlamaConfig& c) { c.num_key_value_heads = 3; },
           "x/config.json: num_attention_heads 4 is not a multiple of num_key_value_heads 3");
    throws([](LlamaConfig& c) { c.head_dim = 15; },
           "x/config.json: head_dim 15 is odd; the rotary embedding turns pairs of dimensions");
    throws([](LlamaConfig& c) { c.head_dim = 1 << 30; },
           "x/config.json: num_attention_heads 4 times head_dim 1073741824 is more than any model has");
    for (const auto& [eps, words] : {std::pair(-1.0, "-1"), {0.0, "0"}, {1.0, "1"}, {1e308, "1e+308"}, {1e-60, "1e-60"}})
        throws([eps = eps](LlamaConfig& c) { c.rms_norm_eps = eps; },
               (std::string("x/config.json: rms_norm_eps is ") + words + ", expected a small positive number").c_str());
    for (const auto& [theta, words] : {std::pair(0.0, "0"), {1e-5, "1e-05"}, {1e300, "1e+300"}})
        throws([theta = theta](LlamaConfig& c) { c.rope_parameters.rope_theta = theta; },
               (std::string("x/config.json: rope_theta is ") + words +
                ", expected a number of at least 1 that f32 holds").c_str());
    for (const auto& [factor, words] : {std::pair(1e300, "1e+300"), {1e-300, "1e-300"}})
        throws([factor = factor](LlamaConfig& c) { c.rope_parameters.factor = factor; },
               (std::string("x/config.json: the rope scaling's factor is ") + words +
                ", expected a positive number that f32 holds").c_str());
    throws([](LlamaConfig& c) { c.rope_parameters.factor = -4; },
           "x/config.json: the rope scaling's factor is -4, expected a positive number");
    throws([](LlamaConfig& c) { c.rope_parameters.rope_type = RopeType::llama3; },
           "x/config.json: the rope scaling's original_max_position_embeddings is 0, expected a positive number");
    throws(
        [](LlamaConfig& c) {
            c.rope_parameters.rope_type = RopeType::llama3;
            c.rope_parameters.original_max_position_embeddings = 8192;
            c.rope_parameters.high_freq_factor = 1;
        },
        "x/config.json: the rope scaling's high_freq_factor is 1, expected more than its low_freq_factor 1");
    throws([](LlamaConfig& c) { c.rope_parameters.divisors = {1, 1}; },
           "x/config.json: 2 rope divisors, expected head_dim / 2 = 8");
}

TEST_CASE("acceptance A13: head_dim is derived only where it can be") {
    CHECK(derived_head_dim(64, 4, "x/config.json") == 16);
    CHECK_THROWS_WITH_AS(derived_head_dim(56, 6, "x/config.json"),
                         "x/config.json: head_dim is not given, and hidden_size 56 is not a multiple of "
                         "num_attention_heads 6",
                         FormatError);
    CHECK_THROWS_AS(derived_head_dim(64, 0, "x/config.json"), FormatError);
    CHECK_THROWS_WITH_AS(derived_head_dim(0, 4, "x/config.json"), "x/config.json: hidden_size is 0, expected a positive number",
                         FormatError);
}
