#include <doctest/doctest.h>
#include <l3/io/stored_tensor.hpp>
#include <l3/tensor/view.hpp>
#include "support/error_text.hpp"
#include "support/paths.hpp"

using namespace l3;

TEST_CASE("TensorSet finds tensors by name, in the order they were added, and names what it has not") {
    io::TensorSet tensors("dir/model.safetensors");
    CHECK(tensors.empty());
    const std::byte bytes[16] = {};
    for (const char* name : {"b", "a", "c"}) tensors.add({name, io::StorageType::bf16, Shape{2, 4}, bytes, nullptr});
    CHECK(tensors.size() == 3);
    CHECK(tensors.nbytes() == 48);
    std::string order;
    for (const io::StoredTensor& t : tensors) order += t.name;
    CHECK(order == "bac");
    CHECK(tensors.find("a") == &tensors.at("a"));
    CHECK(tensors.contains("c"));
    CHECK(tensors.find("d") == nullptr);
    CHECK(tensors.at("a").row_bytes() == 8);
    CHECK(support::error_text<FormatError>([&] { (void)tensors.at("lm_head.weight"); }) ==
          "dir/model.safetensors has no tensor 'lm_head.weight'");
    CHECK(support::error_text<FormatError>([&] {
              tensors.add({"a", io::StorageType::f32, Shape{1}, {}, nullptr});
          }) == "tensor 'a' (in memory) is there twice, again as tensor 'a' (in memory)");
}

TEST_CASE("A stored tensor keeps its file open and can name it") {
    const support::TemporaryFolder folder;
    support::write_file(folder / "file.gguf", "abcd");
    io::StoredTensor tensor;
    {
        const auto file = io::MappedFile::open(folder / "file.gguf");
        tensor = {"t", io::StorageType::u8, Shape{4}, file->bytes(), file};
    }
    CHECK(tensor.data[3] == std::byte{'d'});
    CHECK(tensor.where() == "tensor 't' (" + (folder / "file.gguf").string() + ")");
    CHECK(tensor.row_bytes() == 4);
    CHECK(io::StoredTensor{"e", io::StorageType::f32, Shape{0, 4}, {}, nullptr}.row_bytes() == 0);
}

TEST_CASE("acceptance A14: dimensions and sizes from files are 64 bits and never wrap") {
    const auto shape = [](io::StorageType type, std::vector<std::uint64_t> dims) {
        return io::detail::checked_shape("x.gguf: tensor 't'", type, dims);
    };
    static_assert(sizeof(Shape().numel()) == 8 && sizeof(TensorView<float, CPU>().nbytes()) == 8);
    CHECK(shape(io::StorageType::f32, {65536, 65536}).first.numel() == 4294967296);
    CHECK(shape(io::StorageType::f32, {65536, 65536}).second == 17179869184u);
    CHECK(shape(io::StorageType::f32, {}).second == 4);
    CHECK(shape(io::StorageType::f32, {0, 1ull << 40}).second == 0);
    CHECK(shape(io::StorageType::q4_0, {3, 64}).second == 108);
    const auto text = [&](io::StorageType type, std::vector<std::uint64_t> dims) {
        return support::error_text<FormatError>([&] { (void)shape(type, dims); });
    };
    for (const std::vector<std::uint64_t>& dims : {std::vector<std::uint64_t>{1ull << 33, 1ull << 33},
                                                   {~0ull},
                                                   {1ull << 62, 4},
                                                   {2, 0, ~0ull},
                                                   {1ull << 40, 1ull << 40, 0},
                                                   {1ull << 61},
                                                   {1ull << 32, 1ull << 32}}) {
        const std::string found = text(io::StorageType::bf16, dims);
        CAPTURE(found);
        CHECK(support::mentions(found, {"x.gguf: tensor 't' claims the shape [", "more elements than there can be"}));
    }
    CHECK(text(io::StorageType::q4_k, {256, 100}) ==
          "x.gguf: tensor 't' claims the shape [256, 100] in Q4_K, whose rows are whole blocks of 256 elements");
    CHECK(support::error_text<UnsupportedError>([&] {
              (void)shape(io::StorageType::f32, {1, 2, 3, 4, 5});
          }) == "x.gguf: tensor 't' has 5 dimensions [1, 2, 3, 4, 5]; at most 4 are read");
}
