#pragma once
// Safetensors: one file, or a directory of shards with an index.
// Format: https://github.com/huggingface/safetensors, "Format", and the checks of its reference reader.
#include "json.hpp"
#include "stored_tensor.hpp"
#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace l3::inline v0::io {

static_assert(std::endian::native == std::endian::little, "numbers in model files are little-endian");

namespace detail {

/// Refuses a safetensors header that names a tensor twice, or a field of one: a JSON object would keep one of the two.
struct RefuseTwice : JsonEvents {
    std::string_view file;
    int depth = 0;
    std::string tensor;
    std::set<std::string, std::less<>> tensors, fields;  // of the header; of the tensor

    explicit RefuseTwice(std::string_view file_name) : file(file_name) {}

    bool start_object(std::size_t) { return ++depth; }
    bool end_object() { return depth-- > 0; }
    bool start_array(std::size_t) { return ++depth; }
    bool end_array() { return depth-- > 0; }
    bool key(const std::string& name) {
        if (depth == 1) {
            if (!tensors.insert(name).second) fail<FormatError>(file, ": tensor '", name, "' is there twice");
            tensor = name;
            fields.clear();
        } else if (depth == 2 && !fields.insert(name).second) {
            fail<FormatError>(file, ": tensor '", tensor, "' has '", name, "' twice");
        }
        return true;
    }
};

/// A whole number >= 0 of a safetensors header, such as an offset.
inline std::uint64_t header_number(const nlohmann::json& j, std::string_view where, const char* what) {
    if (!j.is_number_unsigned())
        fail<FormatError>(where, ": ", what, " has ", j.is_structured() ? j.type_name() : j.dump(),
                          ", expected a whole number of at least 0");
    return j.get<std::uint64_t>();
}

/// What the header says of a tensor; data holds the bytes after the header. The range is checked by the caller.
inline StoredTensor read_safetensors_entry(const std::string& name, const nlohmann::json& entry, std::string_view file,
                                           std::uint64_t& begin, std::uint64_t& end) {
    const std::string where = std::string(file) + ": tensor '" + name + "'";
    const auto field = [&](const char* key) -> const nlohmann::json& {
        const auto found = entry.find(key);
        if (found == entry.end()) fail<FormatError>(where, " has no ", key);
        return *found;
    };
    if (!entry.is_object()) fail<FormatError>(where, " is ", entry.type_name(), ", expected an object");
    StoredTensor tensor;
    tensor.name = name;

    const nlohmann::json& dtype = field("dtype");
    if (!dtype.is_string()) fail<FormatError>(where, ": dtype is ", dtype.type_name(), ", expected a string");
    const auto type = safetensors_type(dtype.get_ref<const std::string&>());
    if (!type) fail<UnsupportedError>(where, " has the unknown dtype ", dtype.dump());
    tensor.type = *type;

    const nlohmann::json& shape = field("shape");
    if (!shape.is_array()) fail<FormatError>(where, ": shape is ", shape.type_name(), ", expected an array");
    std::vector<std::uint64_t> dims;
    for (const nlohmann::json& d : shape) dims.push_back(header_number(d, where, "shape"));
    const auto [checked, bytes] = checked_shape(where, tensor.type, dims);
    tensor.shape = checked;

    const nlohmann::json& offsets = field("data_offsets");
    if (!offsets.is_array() || offsets.size() != 2) fail<FormatError>(where, ": data_offsets are not two numbers");
    begin = header_number(offsets[0], where, "data_offsets");
    end = header_number(offsets[1], where, "data_offsets");
    if (begin > end) fail<FormatError>(where, " begins at byte ", begin, " and ends before it, at ", end);
    if (end - begin != bytes)
        fail<FormatError>(where, " of shape ", tensor.shape, " in ", storage_name(tensor.type), " needs ", bytes,
                          " bytes, but its data_offsets span ", end - begin);
    return tensor;
}

/// Reads a safetensors file that is open.
inline TensorSet read_safetensors(const std::shared_ptr<const MappedFile>& file) {
    const std::string name = file->path().string();
    const std::string_view text = file->text();
    constexpr std::uint64_t most_header_bytes = 100'000'000, length_bytes = sizeof(std::uint64_t);
    if (text.size() < length_bytes)
        fail<FormatError>(name, " holds ", text.size(), " bytes; a safetensors file has at least ", length_bytes,
                          ": it is cut short");
    std::uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, text.data(), length_bytes);
    if (header_bytes > most_header_bytes)
        fail<FormatError>(name, " claims a header of ", header_bytes,
                          " bytes, more than the 100000000 there may be: it is no"
                          " safetensors file");
    if (header_bytes > text.size() - length_bytes)
        fail<FormatError>(name, " claims a header of ", header_bytes, " bytes, but holds only ", text.size(),
                          " bytes: it is cut short");
    std::string_view header = text.substr(length_bytes, header_bytes);
    const std::string_view data = text.substr(length_bytes + header_bytes);
    if (!header.starts_with('{')) fail<FormatError>(name, ": the header does not begin with '{'");
    const std::size_t json_end = std::min(header.rfind('}'), header.size() - 1) + 1;
    if (const std::size_t stray = header.find_first_not_of(" \t\r\n", json_end); stray != header.npos)
        fail<FormatError>(name, ": the byte after the JSON header is ", int(static_cast<unsigned char>(header[stray])),
                          ", expected spaces up to the header's end");
    header = header.substr(0, json_end);

    const auto json = parse_json(header, name);
    RefuseTwice twice(name);
    (void)nlohmann::json::sax_parse(header.begin(), header.end(), &twice);
    if (!json.is_object()) fail<FormatError>(name, ": the header is ", json.type_name(), ", expected an object");

    struct Entry {
        std::uint64_t begin, end;
        StoredTensor tensor;
    };
    std::vector<Entry> entries;
    entries.reserve(json.size());
    for (const auto& [key, value] : json.items()) {
        if (key == "__metadata__") continue;
        Entry entry{};
        entry.tensor = read_safetensors_entry(key, value, name, entry.begin, entry.end);
        entries.push_back(std::move(entry));
    }
    std::ranges::sort(entries, {}, [](const Entry& e) { return std::pair(e.begin, e.end); });
    const std::uint64_t needed = entries.empty() ? 0 : std::ranges::max_element(entries, {}, &Entry::end)->end;
    const auto expected = [&, header_end = length_bytes + header_bytes](std::uint64_t bytes) {
        const std::uint64_t most = std::numeric_limits<std::uint64_t>::max() - header_end;
        return bytes > most ? std::string("more than 64 bits count") : std::to_string(header_end + bytes);
    };
    const auto where = [&](const Entry& e) { return message(name, ": tensor '", e.tensor.name, "'"); };

    // The tensors in the order of their data cover it without hole or overlap, to the end of the file.
    TensorSet tensors(file->path());
    std::uint64_t at = 0;
    const auto before = [&tensors] {
        return tensors.empty() ? "the beginning of the data" : "tensor '" + std::prev(tensors.end())->name + "'";
    };
    for (Entry& e : entries) {
        if (e.end > data.size())
            fail<FormatError>(where(e), " ends at byte ", e.end, " of the data, of which there are ", data.size(),
                              ": the file is cut short (", text.size(), " bytes, expected ", expected(needed), ")");
        if (e.begin < at)
            fail<FormatError>(where(e), " overlaps ", before(), ": it begins at byte ", e.begin, ", not ", at);
        if (e.begin > at)
            fail<FormatError>(where(e), " begins at byte ", e.begin, ", leaving a hole of ", e.begin - at,
                              " bytes after ", before());
        at = e.end;
        e.tensor.data = std::as_bytes(std::span(data)).subspan(e.begin, e.end - e.begin);
        e.tensor.file = file;
        tensors.add(std::move(e.tensor));
    }
    if (at != data.size())
        fail<FormatError>(name, " has ", data.size() - at, " bytes after ", before(), " (", text.size(),
                          " bytes, expected ", expected(at), ")");
    return tensors;
}

}  // namespace detail

/// The tensors of a safetensors file, all checked against the file's size before memory is allocated for any.
/// Throws IoError, FormatError, UnsupportedError (a dtype that is not known) naming file and tensor.
[[nodiscard]] inline TensorSet open_safetensors(const std::filesystem::path& path,
                                                FileAccess access = FileAccess::map) {
    TensorSet tensors = detail::read_safetensors(MappedFile::open(path));
    return access == FileAccess::map ? tensors : detail::read_safetensors(MappedFile::open(path, access));
}

/// The tensors of a Hugging Face directory: model.safetensors if it is there, else the shards that
/// model.safetensors.index.json names. Of the shards, the tensors that the index lists are taken, from where it says.
/// Throws IoError listing what was looked for, or all shards that are missing; FormatError; UnsupportedError.
[[nodiscard]] inline TensorSet open_safetensors_directory(const std::filesystem::path& directory,
                                                          FileAccess access = FileAccess::map) {
    namespace fs = std::filesystem;
    const auto exists = [](const fs::path& path) {
        std::error_code unreadable;  // what cannot be looked at is not there
        return fs::exists(path, unreadable);
    };
    std::error_code none;
    if (!fs::is_directory(directory, none)) fail<IoError>(directory.string(), " is no directory");
    const fs::path single = directory / "model.safetensors", index_path = directory / "model.safetensors.index.json";
    if (exists(single)) return open_safetensors(single, access);
    if (!exists(index_path))
        fail<IoError>(directory.string(),
                      ": no weights found; looked for model.safetensors and model.safetensors.index.json"
                      " (beside config.json)");

    const std::string index_name = index_path.string();
    const auto json = read_json(index_path);
    const auto map = JsonObject(json, index_name).find_object("weight_map");
    if (!map) fail<FormatError>(index_name, ": no 'weight_map'");
    std::map<std::string, std::vector<std::string>> shards;  // file name: its tensors
    for (const auto& [tensor, shard] : map->json().items()) {
        if (!shard.is_string()) map->fail_type(tensor, shard, "the name of a file");
        const auto& file_name = shard.get_ref<const std::string&>();
        if (file_name.empty() || fs::path(file_name).filename() != fs::path(file_name) || file_name == ".." ||
            file_name.find('\0') != file_name.npos)
            map->fail_type(tensor, shard, "the name of a file in the same directory");
        shards[file_name].push_back(tensor);
    }
    std::string missing;
    int missing_count = 0;
    for (const auto& [file_name, unused] : shards) {
        if (exists(directory / file_name)) continue;
        missing += (missing_count++ ? ", " : "") + file_name;
    }
    if (missing_count > 0)
        fail<IoError>(index_name, " names shards that are missing, ", missing_count, " of ", shards.size(), ": ",
                      missing);

    const auto open_shards = [&](FileAccess how) {
        TensorSet tensors(directory);
        std::string absent;
        for (const auto& [file_name, names] : shards) {
            const TensorSet shard = detail::read_safetensors(MappedFile::open(directory / file_name, how));
            for (const std::string& tensor : names) {
                if (const StoredTensor* found = shard.find(tensor)) tensors.add(*found);
                else absent += message(absent.empty() ? "" : ", ", tensor, " (", file_name, ")");
            }
        }
        if (!absent.empty()) fail<FormatError>(index_name, " names tensors that are not in their shards: ", absent);
        return tensors;
    };
    TensorSet tensors = open_shards(FileAccess::map);  // everything is checked before anything is read
    return access == FileAccess::map ? tensors : open_shards(access);
}

}  // namespace l3::inline v0::io
