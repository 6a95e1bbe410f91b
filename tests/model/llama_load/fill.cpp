#include <doctest/doctest.h>
#include <l3/model/llama_load/fill.hpp>

using namespace l3;

namespace {

io::StoredTensor stored(const std::vector<f32>& values, const Shape& shape) {
    return {"t", io::StorageType::f32, shape, std::as_bytes(std::span(values)), nullptr};
}

}  // namespace

TEST_CASE_TEMPLATE("Fill puts rows in interleaved rotary order into half-split order, head by head", T, bf16, f32) {
    // Two heads of 6 rows; the value of a row says where it must end up.
    const std::vector<f32> order = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
    std::vector<f32> rows;
    for (f32 row : order) rows.insert(rows.end(), {row, row + 100});
    const io::StoredTensor matrix = stored(rows, {12, 2}), vector = stored(order, {12});

    for (int threads : {1, 3}) {
        Context<CPU> ctx(threads);
        LlamaWeights<T, CPU> weights;
        TensorView<const T, CPU> to;
        TensorView<const f32, CPU> bias;
        loading::Fill<T> fill;
        fill.matrix(to, matrix, 6);
        fill.vector(bias, vector, 6);
        fill.run(ctx, weights, {});
        REQUIRE(to.shape() == Shape{12, 2});
        REQUIRE(bias.shape() == Shape{12});
        for (int r = 0; r < 12; ++r) {
            CHECK(f32(to.row(r)[0]) == f32(r));
            CHECK(f32(to.row(r)[1]) == f32(r + 100));
            CHECK(bias.data()[r] == f32(r));
        }
        CHECK(weights.in_place_bytes == 0);
        CHECK(weights.copied_bytes == 24 * sizeof(T) + 12 * sizeof(f32));
    }
}

TEST_CASE("Fill: a matrix of many pieces is converted whole, and progress sees the pieces") {
    const Index rows = 9000, cols = 2048;  // 72 MiB as f32: three pieces
    std::vector<std::uint16_t> bits(std::size_t(rows * cols));
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = std::uint16_t(0x3F80 + i % 97 + i / 1000000);
    const io::StoredTensor from{"t", io::StorageType::bf16, {rows, cols}, std::as_bytes(std::span(bits)), nullptr};
    Context<CPU> ctx(2);
    LlamaWeights<f32, CPU> weights;
    TensorView<const f32, CPU> to;
    loading::Fill<f32> fill;
    fill.matrix(to, from, 0);
    int calls = 0;
    LoadOptions options;
    options.progress = [&calls](double) { return ++calls, true; };
    fill.run(ctx, weights, options);
    CHECK(calls == 4);
    std::size_t different = 0;
    for (std::size_t i = 0; i < bits.size(); ++i) different += to.data()[i] != f32(bf16::from_bits(bits[i]));
    CHECK(different == 0);
}
