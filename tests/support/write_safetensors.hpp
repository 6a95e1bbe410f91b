#pragma once
// Writes safetensors files and sharded directories for tests.
#include "file_tensor.hpp"
#include "paths.hpp"
#include <algorithm>
#include <cstdio>

namespace support {

/// The bytes of a safetensors file with any header: its length in 8 bytes, the header, the data.
inline std::string safetensors_bytes(std::string_view header, std::string_view data) {
    const auto length = std::uint64_t(header.size());
    std::string out(sizeof length, '\0');
    std::memcpy(out.data(), &length, sizeof length);
    return out.append(header).append(data);
}

/// The JSON header of these tensors, whose data follow one another in this order.
inline std::string safetensors_header(std::span<const FileTensor> tensors, std::string_view metadata = {}) {
    std::string header = "{";
    if (!metadata.empty()) header.append("\"__metadata__\":").append(metadata).append(tensors.empty() ? "" : ",");
    std::size_t offset = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const FileTensor& t = tensors[i];
        header += (i ? ",\"" : "\"") + t.name + "\":{\"dtype\":\"" + t.type + "\",\"shape\":[";
        for (std::size_t d = 0; d < t.shape.size(); ++d) header += (d ? "," : "") + std::to_string(t.shape[d]);
        header += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + t.data.size()) + "]}";
        offset += t.data.size();
    }
    header += "}";
    return header.append((8 - header.size() % 8) % 8, ' ');  // the data begin at a multiple of 8, as others write it
}

/// Writes one safetensors file. metadata: a JSON object of strings, or nothing.
inline void write_safetensors(const std::filesystem::path& path, std::span<const FileTensor> tensors,
                              std::string_view metadata = "{\"format\":\"pt\"}") {
    std::string data;
    for (const FileTensor& t : tensors) data += t.data;
    write_file(path, safetensors_bytes(safetensors_header(tensors, metadata), data));
}

/// model-00002-of-00003.safetensors, counted from 1.
inline std::string shard_name(int part, int parts, std::string_view stem = "model",
                              std::string_view extension = "safetensors") {
    char numbers[32];
    std::snprintf(numbers, sizeof numbers, "-%05d-of-%05d.", part, parts);
    return std::string(stem).append(numbers).append(extension);
}

/// Writes the tensors as shards with model.safetensors.index.json, dealt out in turn.
inline void write_sharded_safetensors(const std::filesystem::path& folder, std::span<const FileTensor> tensors,
                                      int shards) {
    std::vector<std::vector<FileTensor>> parts(static_cast<std::size_t>(shards));
    std::string map;
    std::size_t total = 0;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const std::size_t part = i % std::size_t(shards);
        parts[part].push_back(tensors[i]);
        map += (i ? ",\n    \"" : "    \"") + tensors[i].name + "\": \"" + shard_name(int(part) + 1, shards) + "\"";
        total += tensors[i].data.size();
    }
    for (int part = 0; part < shards; ++part)
        write_safetensors(folder / shard_name(part + 1, shards), parts[std::size_t(part)]);
    write_file(folder / "model.safetensors.index.json", "{\n  \"metadata\": {\"total_size\": " + std::to_string(total) +
                                                            "},\n  \"weight_map\": {\n" + map + "\n  }\n}\n");
}

}  // namespace support
