#pragma once
// A second reader of safetensors for tests: golden values, and weights for the reference. No code of the library.
#include "random.hpp"
#include "paths.hpp"
#include "reference_llama.hpp"
#include "tiny_model.hpp"
#include <nlohmann/json.hpp>

namespace support {

struct ReadTensor {
    std::string type;
    std::vector<std::int64_t> shape;
    std::string data;
};

/// All tensors of a file that is taken to be good.
inline std::map<std::string, ReadTensor> read_safetensors(const std::filesystem::path& path) {
    const std::string file = read_file(path);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data(), sizeof length);
    std::map<std::string, ReadTensor> tensors;
    const nlohmann::json header = nlohmann::json::parse(file.substr(8, length));
    for (const auto& [name, entry] : header.items()) {
        if (name == "__metadata__") continue;
        const auto begin = entry.at("data_offsets").at(0).get<std::size_t>();
        const auto end = entry.at("data_offsets").at(1).get<std::size_t>();
        tensors[name] = {entry.at("dtype").get<std::string>(), entry.at("shape").get<std::vector<std::int64_t>>(),
                         file.substr(8 + length + begin, end - begin)};
    }
    return tensors;
}

/// An F32, F16 or BF16 tensor as a matrix.
inline reference::Matrix matrix_of(const ReadTensor& t) {
    const std::vector<float> values = decode(t.type, t.data);
    const std::int64_t cols = t.shape.back();
    return {std::int64_t(values.size()) / cols, cols, std::span<const float>(values)};
}

/// An I32 tensor.
inline std::vector<std::int32_t> ids_of(const ReadTensor& t) {
    std::vector<std::int32_t> ids(t.data.size() / 4);
    std::memcpy(ids.data(), t.data.data(), t.data.size());
    return ids;
}

}  // namespace support
