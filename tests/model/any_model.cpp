#include <doctest/doctest.h>
#include <l3/model/any_model.hpp>
#include "support/evaluate.hpp"

using namespace l3;
using doctest::Contains;
using support::different_bits;
using support::TemporaryFolder;

TEST_CASE("dtypes and devices by name") {
    CHECK(parse_dtype("bf16") == DTypeId::bfloat16);
    CHECK(parse_dtype("f32") == DTypeId::float32);
    CHECK_THROWS_WITH_AS((void)parse_dtype("f16"), "dtype 'f16', expected bf16 or f32", ArgumentError);
    CHECK(parse_device("cpu") == DeviceId::cpu);
    CHECK(parse_device("auto") == DeviceId::cpu);
    CHECK(parse_device("cuda") == DeviceId::cuda);
    CHECK_THROWS_WITH_AS((void)parse_device("gpu"), "device 'gpu', expected auto, cpu or cuda", ArgumentError);
}

TEST_CASE("AnyModel gives the bits of the Model it stands for") {
    const TemporaryFolder folder;
    support::t0("BF16").write_directory(folder / "hf");
    const auto ids = support::random_ids(30, 256);
    const AnyModel half(folder / "hf"), full(folder / "hf", DTypeId::float32, DeviceId::cpu, support::with_threads(1));
    const Model<bf16, CPU> model(folder / "hf");
    const AnyModel held = model;
    CHECK(different_bits(support::cold(half, ids), support::cold(model, ids)) == 0);
    CHECK(different_bits(support::cold(held, ids), support::cold(model, ids)) == 0);
    CHECK(different_bits(support::cold(full, ids), support::cold(Model<f32, CPU>(folder / "hf"), ids)) == 0);
    CHECK(half.dtype() == "bf16");
    CHECK(full.dtype() == "f32");
    CHECK(full.threads() == 1);
}

TEST_CASE("AnyModel says of itself what the model says") {
    const TemporaryFolder folder;
    support::t0("BF16").write_directory(folder / "hf");
    support::write_file(folder / "hf/generation_config.json", R"({"eos_token_id": 9, "top_k": 3})");
    const Model<bf16, CPU> model(folder / "hf", support::with_threads(2));
    const AnyModel any = model;
    CHECK(any.config().hidden_size == 64);
    CHECK(any.weights_bytes() == model.weights_bytes());
    CHECK(any.cache_bytes(100) == model.cache_bytes(100));
    CHECK(any.generation_config().top_k == 3);
    CHECK(std::ranges::equal(any.end_ids(), std::vector<Token>{2, 9}));
    CHECK(any.path() == folder / "hf");
    CHECK(any.format() == CheckpointFormat::hugging_face);
    CHECK(any.device() == "cpu");
    CHECK(any.threads() == 2);
    CHECK(any.load_ms() == model.load_ms());
    CHECK_FALSE(any.has_tokenizer());
    CHECK_THROWS_AS((void)any.tokenizer(), IoError);
}

TEST_CASE("AnyModel: sequences, their errors, and clones") {
    const TemporaryFolder folder;
    support::t0("BF16").write_directory(folder / "hf");
    const AnyModel model(folder / "hf", DTypeId::float32);
    const auto ids = support::random_ids(30, 256);
    const std::vector<f32> expected = support::cold(model, ids);
    AnyModel::Sequence sequence = model.new_sequence(31);
    CHECK(sequence.capacity() == 31);
    (void)support::evaluate(sequence, std::span(ids).first(20));
    AnyModel::Sequence copy = sequence.clone();
    sequence.truncate(3);
    CHECK(sequence.size() == 3);
    CHECK(copy.size() == 20);
    CHECK(different_bits(support::evaluate(copy, std::span(ids).subspan(20)), support::from(expected, 20, 256)) == 0);
    CHECK(different_bits(support::evaluate(sequence, std::span(ids).subspan(3)), support::from(expected, 3, 256)) == 0);
    CHECK_THROWS_AS(sequence.evaluate(std::vector<Token>{1, 2}, {}), ContextFullError);
    CHECK_THROWS_AS(sequence.evaluate(std::vector<Token>{256}, {}), ArgumentError);
    std::stop_source stop;
    stop.request_stop();
    CHECK_THROWS_AS(sequence.evaluate(std::vector<Token>{1}, {}, stop.get_token()), CancelledError);
    CHECK(sequence.size() == 30);
}

TEST_CASE("AnyModel: a device that this build has not") {
    CHECK_THROWS_WITH_AS((AnyModel("anything", DTypeId::bfloat16, DeviceId::cuda)), "this build has no CUDA",
                         DeviceError);
}
