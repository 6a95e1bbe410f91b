// The double-precision Llama against logits that NumPy and transformers computed: who referees the referee.
#include "contract_llama.hpp"
#include "golden.hpp"
#include "tolerance.hpp"
#include <doctest/doctest.h>

using namespace support;

TEST_CASE("references: the double Llama gives NumPy's golden logits") {
    for (const Golden& golden : goldens()) {
        CAPTURE(golden.model.name);
        const reference::Matrix logits = golden.model.logits(golden.ids);
        CHECK(max_error(golden.chosen(logits), golden.logits) <= 1e-10);
        CHECK(max_abs(logits) == doctest::Approx(golden.max_abs_logit).epsilon(1e-10));
    }
}

TEST_CASE("references: rounding to bf16 at the contract's places stays within the bound for bf16") {
    for (const TinyModel& model : tiny_models()) {
        CAPTURE(model.name);
        const std::vector<Token> ids = random_ids(24, model.config.vocab_size);
        const reference::Matrix exact = model.logits(ids);
        CHECK(max_abs(exact) > 0.5);
        CHECK(relative_error(model.logits(ids, reference::to_bf16), exact) <= logits_tolerance<bf16>);
    }
}

TEST_CASE_TEMPLATE("references: the contract's Llama is within the bounds of the double Llama", T, f32, bf16) {
    const auto exp = [](float x) { return float(std::exp(double(x))); };
    for (const TinyModel& model : tiny_models()) {
        CAPTURE(model.name);
        const std::vector<Token> ids = random_ids(18, model.config.vocab_size);
        const auto table = reference::rope_table(reference::rope_inv_freq(model.config), 0, 18);
        const std::vector<float> cos(table.cos.values.begin(), table.cos.values.end());
        const std::vector<float> sin(table.sin.values.begin(), table.sin.values.end());
        const std::vector<float> logits = reference::contract_llama<T>(model.config, model.weights(), ids, cos.data(),
                                                                       sin.data(), exp);
        const reference::Matrix found(18, model.config.vocab_size, std::span<const float>(logits));
        CHECK(relative_error(found, model.logits(ids)) <= logits_tolerance<T>);
        CHECK(relative_error(found, model.logits(ids, reference::rounding_of<T>())) <= logits_tolerance<T> / 2);
    }
}

TEST_CASE("references: the double Llama gives the logits of transformers") {
    const auto shared = shared_data();
    if (!shared) {
        MESSAGE("no ../shared/data: not compared with transformers");
        return;
    }
    for (const auto& entry : std::filesystem::directory_iterator(*shared / "tiny")) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_directory() || is_unsupported(name)) continue;
        CAPTURE(name);
        const auto config = config_of(nlohmann::json::parse(read_file(entry.path() / "config.json")));
        reference::Weights weights;
        for (const auto& file : std::filesystem::directory_iterator(entry.path()))
            if (file.path().extension() == ".safetensors" && file.path().stem() != "golden")
                for (const auto& [tensor, data] : read_safetensors(file.path())) weights[tensor] = matrix_of(data);
        const auto golden = read_safetensors(entry.path() / "golden.safetensors");
        const reference::Matrix expected = matrix_of(golden.at("logits"));
        // The golden values are rounded to f32.
        CHECK(relative_error(reference::llama(config, weights, ids_of(golden.at("ids"))), expected) <= 1e-7);
    }
}

TEST_CASE("references: quantised blocks decode as their formats say") {
    // scale 0.5 = f16 0x3800; minimum -1 = 0xBC00.
    const std::string half_scale("\x00\x38", 2), minus_one("\x00\xBC", 2);
    std::string q8 = half_scale;
    for (int i = 0; i < 32; ++i) q8.push_back(char(i - 16));
    std::string nibbles;
    for (int i = 0; i < 16; ++i) nibbles.push_back(char(i | (15 - i) << 4));
    const std::vector<float> a = decode("Q8_0", q8), b = decode("Q4_0", half_scale + nibbles),
                             c = decode("Q4_1", half_scale + minus_one + nibbles);
    for (int i = 0; i < 32; ++i) {
        const int q = i < 16 ? i : 31 - i;
        CHECK(a[std::size_t(i)] == 0.5f * float(i - 16));
        CHECK(b[std::size_t(i)] == 0.5f * float(q - 8));
        CHECK(c[std::size_t(i)] == 0.5f * float(q) - 1);
    }
    CHECK(decode("F16", std::string("\x01\x00\xFF\x7B\x00\x80", 6)) == std::vector<float>{0x1p-24f, 65504, -0.0f});
}

TEST_CASE("references: what is written as safetensors reads back, whole or in shards") {
    for (const TinyModel& model : tiny_models()) {
        if (model.quantized) continue;
        CAPTURE(model.name);
        const TemporaryFolder folder;
        model.write_directory(folder.path());
        std::map<std::string, ReadTensor> read;
        int files = 0;
        for (const auto& file : std::filesystem::directory_iterator(folder.path()))
            if (file.path().extension() == ".safetensors") read.merge(read_safetensors(file.path())), ++files;
        CHECK(files == model.shards);
        CHECK(read.size() == model.tensors().size());
        for (const auto& [name, matrix] : model.weights()) {
            CAPTURE(name);
            CHECK(max_error(matrix_of(read.at(name)), matrix) == 0);
        }
        const reference::LlamaConfig config = config_of(nlohmann::json::parse(model.config_json()));
        CHECK(config.head_dim == model.config.head_dim);
        CHECK(config.rms_norm_eps == model.config.rms_norm_eps);
        CHECK(reference::rope_inv_freq(config) == reference::rope_inv_freq(model.config));
        CHECK(nlohmann::json::accept(model.config_json(Spelling::old)));
    }
}
