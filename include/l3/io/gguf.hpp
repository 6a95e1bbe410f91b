#pragma once
// GGUF files, versions 2 and 3, whole or split.
// Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
#include "gguf/cursor.hpp"
#include "gguf/metadata.hpp"
#include "stored_tensor.hpp"
#include <algorithm>
#include <filesystem>
#include <bit>
#include <limits>
#include <memory>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>
#include <vector>

namespace l3::inline v0::io {

/// What a GGUF file holds. Names of tensors as in the file ("blk.0.attn_q.weight"), shapes row-major: [out, in].
struct Gguf {
    std::filesystem::path path;
    std::uint32_t version = 0;
    GgufMetadata metadata;  // of a split file, that of its first part
    TensorSet tensors;      // of a split file, those of all parts
    std::vector<std::shared_ptr<const MappedFile>> files;  // which metadata and tensors are views of
};

namespace detail {

/// Reads the tensor infos that follow the metadata, checks them against the file's size, and adds them to the set.
inline void read_gguf_tensors(Cursor& cursor, std::uint64_t tensor_count, std::uint64_t alignment,
                              const std::shared_ptr<const MappedFile>& file, TensorSet& tensors) {
    const std::string name = file->path().string();
    struct Entry {
        std::uint64_t offset, bytes;
        StoredTensor tensor;
    };
    std::vector<Entry> entries;  // in the order of the file
    entries.reserve(tensor_count);
    for (std::uint64_t i = 0; i < tensor_count; ++i) {
        Entry entry{};
        entry.tensor.name = cursor.text("the name of a tensor");
        const std::string where = message(name, ": tensor '", entry.tensor.name, "'");
        const auto rank = cursor.number<std::uint32_t>(where);
        if (rank > Shape::max_rank)
            fail<FormatError>(where, " claims ", rank, " dimensions; there are at most 4 in GGUF");
        std::vector<std::uint64_t> dims(rank);
        for (std::uint32_t d = rank; d-- > 0;) dims[d] = cursor.number<std::uint64_t>(where);  // innermost first
        const auto type_number = cursor.number<std::uint32_t>(where);
        const auto type = ggml_type(type_number);
        if (!type) fail<UnsupportedError>(where, " has the tensor type number ", type_number, ", which is not known");
        entry.tensor.type = *type;
        std::tie(entry.tensor.shape, entry.bytes) = checked_shape(where, *type, dims);
        entry.offset = cursor.number<std::uint64_t>(where);
        if (entry.offset % alignment != 0)
            fail<FormatError>(where, " begins at offset ", entry.offset, ", no multiple of the alignment ", alignment);
        entries.push_back(std::move(entry));
    }

    const std::uint64_t file_bytes = file->size_bytes();
    const std::uint64_t begin = align_up(cursor.position(), alignment);  // small numbers: they do not overflow
    const std::uint64_t data_bytes = file_bytes - std::min(begin, file_bytes);
    std::vector<const Entry*> by_offset;
    for (const Entry& e : entries) by_offset.push_back(&e);
    std::ranges::sort(by_offset, {}, [](const Entry* e) { return std::pair(e->offset, e->bytes); });
    const Entry* before = nullptr;
    for (const Entry* e : by_offset) {
        const std::string where = message(name, ": tensor '", e->tensor.name, "' (", storage_name(e->tensor.type), " ",
                                          e->tensor.shape, ", ", e->bytes, " bytes at offset ", e->offset, ")");
        if (e->offset > data_bytes || e->bytes > data_bytes - e->offset)
            fail<FormatError>(where, " goes beyond the end of the file: it is cut short (", file_bytes,
                              " bytes, expected ",
                              e->offset > std::numeric_limits<std::uint64_t>::max() - e->bytes - begin
                                  ? std::string("more than 64 bits count")
                                  : message("at least ", begin + e->offset + e->bytes),
                              ")");
        if (before != nullptr && e->offset - before->offset < before->bytes)
            fail<FormatError>(where, " begins inside tensor '", before->tensor.name, "', whose type ",
                              storage_name(before->tensor.type), " and shape ", before->tensor.shape, " need ",
                              before->bytes, " bytes, not ", e->offset - before->offset);
        before = e;
    }
    for (Entry& e : entries) {
        e.tensor.data = file->bytes().subspan(std::min(begin + e.offset, file_bytes), e.bytes);
        e.tensor.file = file;
        tensors.add(std::move(e.tensor));
    }
}

/// Reads one file: its metadata into gguf if it is the first, its tensors in any case. Returns its metadata.
inline GgufMetadata read_gguf_part(Gguf& gguf, const std::shared_ptr<const MappedFile>& file) {
    const std::string name = file->path().string();
    Cursor cursor(file->bytes(), name);
    const std::string_view magic = file->text().substr(0, 4);
    if (file->size_bytes() >= 4 && magic != "GGUF") {
        for (std::string_view older : {"lmgg", "fmgg", "tjgg", "algg"})  // little-endian ggml, ggmf, ggjt, ggla
            if (magic == older)
                fail<UnsupportedError>(name, " is a GGML file from before GGUF; it must be converted to GGUF");
        fail<FormatError>(name, " is no GGUF file: it does not begin with 'GGUF'");
    }
    cursor.take(4, "the magic 'GGUF'");
    const auto version = cursor.number<std::uint32_t>("the version");
    if (version != 2 && version != 3) {
        if ((version & 0xFFFF) == 0)
            fail<UnsupportedError>(name, " is a big-endian GGUF file; little-endian ones are read");
        fail<UnsupportedError>(name, " has GGUF version ", version, "; versions 2 and 3 are read");
    }
    const std::uint64_t tensor_count = cursor.count(24, "the number of tensors");
    const std::uint64_t value_count = cursor.count(13, "the number of metadata values");
    GgufMetadata metadata(name);
    for (std::uint64_t i = 0; i < value_count; ++i) {
        const std::string_view key = cursor.text("a metadata key");
        metadata.add(key, read_gguf_value(cursor, name, message("metadata '", key, "'")));
    }
    const auto alignment = metadata.get_or<std::uint32_t>("general.alignment", 32);
    if (!std::has_single_bit(alignment))
        fail<FormatError>(name, ": metadata 'general.alignment' is ", alignment, ", expected a power of two");
    read_gguf_tensors(cursor, tensor_count, alignment, file, gguf.tensors);
    gguf.version = version;
    gguf.files.push_back(file);
    return metadata;
}

/// model-00002-of-00003.gguf as its stem "model", part 2 of 3; no parts for another name.
struct GgufPart {
    std::string stem;
    int part = 0, parts = 0;
};
inline GgufPart gguf_part(const std::filesystem::path& path) {
    constexpr std::string_view pattern = "-00000-of-00000.gguf";  // 0 stands for a digit
    const std::string name = path.filename().string();
    if (name.size() < pattern.size()) return {};
    const std::string_view tail = std::string_view(name).substr(name.size() - pattern.size());
    int numbers[2] = {};
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        const bool digit = tail[i] >= '0' && tail[i] <= '9';
        if (pattern[i] == '0' ? !digit : tail[i] != pattern[i]) return {};
        if (digit) numbers[i > 6] = numbers[i > 6] * 10 + (tail[i] - '0');
    }
    return {name.substr(0, name.size() - pattern.size()), numbers[0], numbers[1]};
}
inline std::string gguf_part_name(const GgufPart& p, int part) {
    const auto five_digits = [](int n) { return std::to_string(100000 + n).substr(1); };
    return p.stem + "-" + five_digits(part) + "-of-" + five_digits(p.parts) + ".gguf";
}

inline Gguf read_gguf(const std::filesystem::path& path, FileAccess access) {
    Gguf gguf;
    gguf.path = path;
    gguf.tensors = TensorSet(path);
    const auto file = MappedFile::open(path, access);
    gguf.metadata = read_gguf_part(gguf, file);
    const std::string name = path.string();
    const int count = gguf.metadata.get_or("split.count", 1), number = gguf.metadata.get_or("split.no", 0);
    const GgufPart named = gguf_part(path);
    if (number != 0 || (count <= 1 && named.part > 1))
        fail<FormatError>(name, " is part ", named.part ? named.part : number + 1, " of a split GGUF file; open part 1",
                          named.parts ? " (" + gguf_part_name(named, 1) + ")" : "", ", which holds the metadata");
    if (count <= 1) return gguf;
    if (named.part != 1 || named.parts != count)
        fail<FormatError>(name, " says it is part 1 of ", count,
                          "; the others are found by name, so its own must end in ",
                          gguf_part_name({"", 1, std::clamp(count, 1, 99999)}, 1));
    for (int part = 2; part <= count; ++part) {
        const std::filesystem::path next = path.parent_path() / gguf_part_name(named, part);
        std::error_code unreadable;
        if (!std::filesystem::exists(next, unreadable))
            fail<IoError>(name, " is part 1 of ", count, ", but part ", part, " is missing: ", next.string());
        const GgufMetadata own = read_gguf_part(gguf, MappedFile::open(next, access));
        if (own.get_or("split.no", -1) != part - 1 || own.get_or("split.count", -1) != count)
            fail<FormatError>(next.string(), " does not say it is part ", part, " of ", count,
                              " in 'split.no' and 'split.count'");
    }
    if (const auto all = gguf.metadata.find<Index>("split.tensors.count");
        all && *all != static_cast<Index>(gguf.tensors.size()))
        fail<FormatError>(name, ": its ", count, " parts hold ", gguf.tensors.size(), " tensors, expected ", *all);
    return gguf;
}

}  // namespace detail

/// Opens a GGUF file; of a split one, given its first part, all parts. Everything is checked against the files' sizes
/// before memory is allocated for it. Types that cannot be converted are refused when such a tensor is used.
/// Throws IoError, FormatError, UnsupportedError, naming file, and key or tensor.
[[nodiscard]] inline Gguf open_gguf(const std::filesystem::path& path, FileAccess access = FileAccess::map) {
    Gguf gguf = detail::read_gguf(path, FileAccess::map);
    return access == FileAccess::map ? gguf : detail::read_gguf(path, access);
}

}  // namespace l3::inline v0::io
