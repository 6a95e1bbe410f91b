#include <doctest/doctest.h>
#include <l3/model/llama_load.hpp>
#include "support/tiny_model.hpp"

using namespace l3;
using doctest::Contains;
using support::FileTensor;
using support::TemporaryFolder;
using support::TinyModel;

namespace {

template <class T>
LlamaWeights<T, CPU> load(const std::filesystem::path& path, const LoadOptions& options = {}, int threads = 2) {
    Context<CPU> ctx(threads);
    return llama_load<T>(ctx, open_checkpoint(path), options);
}

template <class E>
std::vector<f32> values(TensorView<const E, CPU> view) {
    std::vector<f32> out;
    for (Index i = 0; i < view.numel(); ++i) out.push_back(f32(view.data()[i]));
    return out;
}

/// The values of a tensor of the model as T.
template <class T>
std::vector<f32> expected(const TinyModel& model, const std::string& name) {
    std::vector<f32> out;
    for (const FileTensor& t : model.stored_tensors())
        if (t.name == name)
            for (float x : support::decode(t.type, t.data)) out.push_back(f32(T(x)));
    return out;
}

/// Every view of the weights under its name in a checkpoint.
template <class T>
std::map<std::string, std::vector<f32>> named(const LlamaWeights<T, CPU>& w) {
    std::map<std::string, std::vector<f32>> all;
    const auto put = [&all](const std::string& name, auto view) {
        if (view) all[name] = values(view);
    };
    put("model.embed_tokens.weight", w.embed_tokens);
    put("model.norm.weight", w.norm.weight);
    put("lm_head.weight", w.lm_head);
    for (std::size_t i = 0; i < w.layers.size(); ++i) {
        const LlamaLayer<T, CPU>& layer = w.layers[i];
        const std::string at = "model.layers." + std::to_string(i) + ".";
        put(at + "input_layernorm.weight", layer.input_layernorm.weight);
        put(at + "post_attention_layernorm.weight", layer.post_attention_layernorm.weight);
        put(at + "self_attn.q_proj.weight", layer.self_attn.q_proj);
        put(at + "self_attn.k_proj.weight", layer.self_attn.k_proj);
        put(at + "self_attn.v_proj.weight", layer.self_attn.v_proj);
        put(at + "self_attn.o_proj.weight", layer.self_attn.o_proj);
        put(at + "self_attn.q_proj.bias", layer.self_attn.q_bias);
        put(at + "self_attn.k_proj.bias", layer.self_attn.k_bias);
        put(at + "self_attn.v_proj.bias", layer.self_attn.v_bias);
        put(at + "self_attn.o_proj.bias", layer.self_attn.o_bias);
        put(at + "mlp.gate_proj.weight", layer.mlp.gate_proj);
        put(at + "mlp.up_proj.weight", layer.mlp.up_proj);
        put(at + "mlp.down_proj.weight", layer.mlp.down_proj);
        put(at + "mlp.gate_proj.bias", layer.mlp.gate_bias);
        put(at + "mlp.up_proj.bias", layer.mlp.up_bias);
        put(at + "mlp.down_proj.bias", layer.mlp.down_bias);
    }
    return all;
}

/// A directory of T0 with its tensors and config changed.
void write_changed(const std::filesystem::path& folder, auto change_tensors, const nlohmann::json& config = {}) {
    const TinyModel model = support::t0("BF16");
    std::filesystem::create_directories(folder);
    nlohmann::json json = nlohmann::json::parse(model.config_json());
    json.update(config.is_null() ? nlohmann::json::object() : config);
    std::vector<FileTensor> tensors = model.stored_tensors();
    change_tensors(tensors);
    support::write_file(folder / "config.json", json.dump());
    support::write_safetensors(folder / "model.safetensors", tensors);
}

FileTensor& tensor(std::vector<FileTensor>& tensors, std::string_view name) {
    return *std::ranges::find(tensors, name, &FileTensor::name);
}

template <class E>
void refuses(const std::filesystem::path& path, const std::string& text) {
    CHECK_THROWS_WITH_AS((void)load<bf16>(path), Contains(text.c_str()), E);
}

}  // namespace

TEST_CASE_TEMPLATE("llama_load: every weight of every variant, from every format, is that of the model", T, bf16, f32) {
    for (const TinyModel& model : support::tiny_models()) {
        CAPTURE(model.name);
        const TemporaryFolder folder;
        model.write_directory(folder / "hf");
        model.write_gguf(folder / "model.gguf");
        std::vector<std::filesystem::path> paths{folder / "hf", folder / "model.gguf"};
        if (model.fits_llama2c()) model.write_llama2c(paths.emplace_back(folder / "model.bin"));
        for (const std::filesystem::path& path : paths) {
            CAPTURE(path.string());
            const LlamaWeights<T, CPU> weights = load<T>(path);
            const auto found = named(weights);
            std::size_t count = 0;
            for (const TinyModel::Named& t : model.tensors()) {
                CAPTURE(t.name);
                REQUIRE(found.contains(t.name));
                // Vectors stay f32 as stored, matrices are rounded to T once.
                CHECK(found.at(t.name) ==
                      (t.shape.size() == 1 ? expected<f32>(model, t.name) : expected<T>(model, t.name)));
                ++count;
            }
            CHECK(found.size() ==
                  count + (model.config.tie_word_embeddings ? 1 : 0));  // no bias that is not in the file
            CHECK(weights.inv_freq.size() == std::size_t(model.config.head_dim) / 2);
        }
    }
}

TEST_CASE("llama_load: matrices of the model's dtype are used where they lie, others are copied") {
    const TinyModel model = support::t0("BF16");
    const TemporaryFolder folder;
    model.write_directory(folder / "hf");
    model.write_gguf(folder / "model.gguf");
    std::uint64_t matrices = 0, vectors = 0, qk = 0;
    for (const TinyModel::Named& t : model.tensors()) {
        const auto n = std::uint64_t(t.shape[0] * (t.shape.size() > 1 ? t.shape[1] : 1));
        (t.shape.size() > 1 ? matrices : vectors) += n;
        if (t.name.find("q_proj") != t.name.npos || t.name.find("k_proj") != t.name.npos) qk += n;
    }
    const auto in_place = load<bf16>(folder / "hf");
    CHECK(in_place.in_place_bytes == matrices * 2);
    CHECK(in_place.copied_bytes == vectors * 4);  // stored as BF16
    CHECK(in_place.files.size() == 1);
    const auto converted = load<f32>(folder / "hf");
    CHECK(converted.in_place_bytes == 0);
    CHECK(converted.copied_bytes == (matrices + vectors) * 4);
    CHECK(converted.files.empty());
    const auto reordered = load<bf16>(folder / "model.gguf");  // vectors are F32 there
    CHECK(reordered.in_place_bytes == (matrices - qk) * 2 + vectors * 4);
    CHECK(reordered.copied_bytes == qk * 2);
}

TEST_CASE("llama_load: the weights outlive the checkpoint, and tensors at odd addresses are copied") {
    const TemporaryFolder folder;
    const TinyModel model = support::t0("BF16");
    std::filesystem::create_directories(folder / "hf");
    support::write_file(folder / "hf/config.json", model.config_json());
    const std::vector<FileTensor> tensors = model.stored_tensors();
    std::string data, header = support::safetensors_header(tensors);
    for (const FileTensor& t : tensors) data += t.data;
    header += std::string(header.size() % 2 ? 0 : 1, ' ');  // the data begin at an odd byte
    support::write_file(folder / "hf/model.safetensors", support::safetensors_bytes(header, data));
    const auto weights = load<bf16>(folder / "hf");
    CHECK(weights.in_place_bytes == 0);
    CHECK(values(weights.embed_tokens) == expected<bf16>(model, "model.embed_tokens.weight"));
}

TEST_CASE("acceptance A09: tied embeddings, all five cases") {
    const TemporaryFolder folder;
    const auto drop_head = [](std::vector<FileTensor>& t) {
        std::erase_if(t, [](const FileTensor& x) { return x.name == "lm_head.weight"; });
    };
    const auto keep = [](std::vector<FileTensor>&) {};
    write_changed(folder / "tied", drop_head, {{"tie_word_embeddings", true}});
    write_changed(folder / "tied-with-head", keep, {{"tie_word_embeddings", true}});
    write_changed(folder / "silent", drop_head, {{"tie_word_embeddings", nullptr}});
    write_changed(folder / "untied-without-head", drop_head, {{"tie_word_embeddings", false}});
    write_changed(folder / "untied", keep, {{"tie_word_embeddings", false}});

    const auto tied = load<bf16>(folder / "tied"), with_head = load<bf16>(folder / "tied-with-head");
    const auto silent = load<bf16>(folder / "silent"), untied = load<bf16>(folder / "untied");
    CHECK(tied.lm_head.data() == tied.embed_tokens.data());
    CHECK(with_head.lm_head.data() == with_head.embed_tokens.data());
    CHECK(silent.lm_head.data() == silent.embed_tokens.data());
    CHECK(untied.lm_head.data() != untied.embed_tokens.data());
    CHECK(values(untied.lm_head) == expected<bf16>(support::t0("BF16"), "lm_head.weight"));
    CHECK(untied.nbytes() - tied.nbytes() == 256 * 64 * sizeof(bf16));
    CHECK(with_head.nbytes() == tied.nbytes());
    refuses<FormatError>(folder / "untied-without-head", "has no tensor 'lm_head.weight'");
    refuses<FormatError>(folder / "untied-without-head", "tie_word_embeddings false");
}

TEST_CASE("acceptance A17: each tensor's own type counts, whatever the config says") {
    const TemporaryFolder folder;
    for (const char* type : {"float16", "bfloat16"})
        write_changed(folder / type, [](std::vector<FileTensor>& all) {
            for (FileTensor& t : all)
                if (t.shape.size() == 1) t = support::f32_tensor(t.name, t.shape, support::decode(t.type, t.data));
        }, {{"dtype", type}});
    const auto a = load<bf16>(folder / "float16"), b = load<bf16>(folder / "bfloat16");
    CHECK(named(a) == named(b));
    CHECK(a.copied_bytes == 0);  // F32 norms and BF16 matrices: all as they lie

    write_changed(folder / "odd", [](std::vector<FileTensor>& all) {
        FileTensor& t = tensor(all, "model.layers.1.mlp.up_proj.weight");
        t.type = "F64";
        t.data.resize(t.data.size() * 4);
    });
    refuses<UnsupportedError>(folder / "odd", "tensor 'model.layers.1.mlp.up_proj.weight' (");
    refuses<UnsupportedError>(folder / "odd", "has the type F64; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are read");
}

TEST_CASE("acceptance A13: T1, whose head_dim is not hidden / heads, has q_proj 96x56 and o_proj 56x96") {
    const TemporaryFolder folder;
    support::t1().write_directory(folder / "hf");
    const auto weights = load<f32>(folder / "hf");
    CHECK(weights.layers[0].self_attn.q_proj.shape() == Shape{96, 56});
    CHECK(weights.layers[0].self_attn.o_proj.shape() == Shape{56, 96});
}

TEST_CASE("llama_load: errors name file, tensor, what was found and what was expected") {
    const TemporaryFolder folder;
    const auto keep = [](std::vector<FileTensor>&) {};
    write_changed(folder / "sizes", keep, {{"intermediate_size", 136}});
    refuses<FormatError>(folder / "sizes",
                         "tensor 'model.layers.0.mlp.gate_proj.weight' (" +
                             (folder / "sizes/model.safetensors").string() +
                             ") has the shape [128, 64], expected [136, 64]: [intermediate_size, hidden_size]");
    write_changed(folder / "heads", keep, {{"num_key_value_heads", 4}});
    refuses<FormatError>(folder / "heads", "'model.layers.0.self_attn.k_proj.weight'");
    refuses<FormatError>(folder / "heads",
                         "[32, 64], expected [64, 64]: [num_key_value_heads * head_dim, hidden_size]");
    write_changed(folder / "vocab", keep, {{"vocab_size", 257}});
    refuses<FormatError>(folder / "vocab", "has the shape [256, 64], expected [257, 64]: [vocab_size, hidden_size]");
    write_changed(folder / "more-layers", keep, {{"num_hidden_layers", 3}});
    refuses<FormatError>(folder / "more-layers", "has no tensor 'model.layers.2.input_layernorm.weight'");
    write_changed(folder / "billions-of-layers", keep, {{"num_hidden_layers", 2147483647}});
    refuses<FormatError>(folder / "billions-of-layers",
                         "has no tensor 'model.layers.2147483646.input_layernorm.weight'");
    write_changed(folder / "thousands-of-layers", [](std::vector<FileTensor>& all) {
        all.push_back(tensor(all, "model.layers.0.input_layernorm.weight"));
        all.back().name = "model.layers.999999.input_layernorm.weight";
    }, {{"num_hidden_layers", 1000000}});
    refuses<FormatError>(folder / "thousands-of-layers",
                         " has 22 tensors, of which a layer needs 9: expected at most 2 layers, its config says 1000000");
    write_changed(folder / "fewer-layers", keep, {{"num_hidden_layers", 1}});
    refuses<FormatError>(folder / "fewer-layers", "tensor 'model.layers.1.");
    refuses<FormatError>(folder / "fewer-layers", " is of a layer beyond the 1 that the config counts (num_hidden_layers)");
    write_changed(folder / "biases", keep, {{"attention_bias", true}});
    refuses<FormatError>(folder / "biases", "has no tensor 'model.layers.0.self_attn.q_proj.bias'");
    write_changed(folder / "rank", [](std::vector<FileTensor>& t) { tensor(t, "model.norm.weight").shape = {1, 64}; });
    refuses<FormatError>(folder / "rank", "'model.norm.weight'");
    refuses<FormatError>(folder / "rank", "has the shape [1, 64], expected [64]: [hidden_size]");
}

TEST_CASE("llama_load: tensors of parts that are used are never left out; others are of no concern") {
    const TemporaryFolder folder;
    const auto extra = [&folder](const std::string& name, const nlohmann::json& config = {}) {
        write_changed(folder / name, [&name](std::vector<FileTensor>& t) {
            const std::vector<float> ones(64, 1);
            t.push_back(support::f32_tensor(name, {64}, ones));
        }, config);
        return folder / name;
    };
    for (const char* name : {"model.layers.0.self_attn.q_norm.weight", "model.layers.1.self_attn.q_proj.bias",
                             "model.layers.1.mlp.up_proj.weight_scale", "model.norm.bias", "lm_head.bias"}) {
        const auto path = extra(name);
        refuses<UnsupportedError>(path, "tensor '" + std::string(name) + "' (");
        refuses<UnsupportedError>(path, "is not known: l3 does not know what it changes in the model");
    }
    CHECK_NOTHROW((void)load<bf16>(extra("model.layers.0.self_attn.rotary_emb.inv_freq")));
    CHECK_NOTHROW((void)load<bf16>(extra("score.weight")));
}

TEST_CASE("llama_load: progress grows from 0 to 1, and can cancel") {
    const TemporaryFolder folder;
    support::t0("BF16").write_directory(folder / "hf");
    for (bool prefault : {true, false}) {
        std::vector<double> seen;
        LoadOptions options;
        options.prefault = prefault;
        options.progress = [&seen](double x) { return seen.push_back(x), true; };
        (void)load<bf16>(folder / "hf", options);
        (void)load<f32>(folder / "hf", options, 3);
        REQUIRE(seen.size() >= 4);
        CHECK(seen.front() == 0);
        CHECK(seen.back() == 1);
        const auto second = std::find(seen.begin() + 1, seen.end(), 0.0);
        CHECK(std::is_sorted(seen.begin(), second));
        CHECK(std::is_sorted(second, seen.end()));
        CHECK(*(second - 1) == 1);

        int calls = 0;
        options.progress = [&calls](double x) { return ++calls, x < 0.5; };
        CHECK_THROWS_WITH_AS((void)load<f32>(folder / "hf", options), "loading was cancelled", CancelledError);
        CHECK(calls >= 2);
        options.progress = [](double) -> bool { throw std::logic_error("from the callback"); };
        CHECK_THROWS_WITH_AS((void)load<f32>(folder / "hf", options), "from the callback", std::logic_error);
    }
}
