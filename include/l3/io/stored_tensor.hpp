#pragma once
// Tensors as they lie in files, found by name. What all readers return, and what loading a model starts from.
#include "../core/error.hpp"
#include "../tensor/shape.hpp"
#include "mapped_file.hpp"
#include "storage_type.hpp"
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace l3::inline v0::io {

/// A tensor in a file: name, type, shape (row-major, as in the checkpoint: [out, in]) and its bytes, which were found
/// to be all there. Keeps the file open.
struct StoredTensor {
    std::string name;
    StorageType type = StorageType::f32;
    Shape shape;
    std::span<const std::byte> data;
    std::shared_ptr<const MappedFile> file;

    /// As messages name it: tensor 'model.norm.weight' (model.safetensors).
    [[nodiscard]] std::string where() const {
        return message("tensor '", name, "' (", file ? file->path().string() : std::string("in memory"), ")");
    }
    /// The bytes of one row: of one step along the last dimension but one.
    [[nodiscard]] Index row_bytes() const { return shape.rows() ? static_cast<Index>(data.size()) / shape.rows() : 0; }
};

/// Tensors by name, from one file or several, in the order of the files. Const access is thread-safe.
class TensorSet {
  public:
    TensorSet() = default;
    /// source: the file or directory, for messages.
    explicit TensorSet(std::filesystem::path source) : source_(std::move(source)) {}

    /// Throws FormatError for a name that is there already.
    void add(StoredTensor tensor) {
        const auto [at, added] = by_name_.try_emplace(tensor.name, tensors_.size());
        if (!added) fail<FormatError>(tensors_[at->second].where(), " is there twice, again as ", tensor.where());
        tensors_.push_back(std::move(tensor));
    }

    /// The tensor of this name, or null.
    [[nodiscard]] const StoredTensor* find(std::string_view name) const {
        const auto found = by_name_.find(name);
        return found == by_name_.end() ? nullptr : &tensors_[found->second];
    }
    /// The tensor of this name. Throws FormatError naming file and tensor if there is none.
    [[nodiscard]] const StoredTensor& at(std::string_view name) const {
        const StoredTensor* const found = find(name);
        require<FormatError>(found != nullptr, source_.string(), " has no tensor '", name, "'");
        return *found;
    }
    [[nodiscard]] bool contains(std::string_view name) const { return find(name) != nullptr; }

    [[nodiscard]] auto begin() const { return tensors_.begin(); }
    [[nodiscard]] auto end() const { return tensors_.end(); }
    [[nodiscard]] std::size_t size() const { return tensors_.size(); }
    [[nodiscard]] bool empty() const { return tensors_.empty(); }
    [[nodiscard]] const std::filesystem::path& source() const { return source_; }
    /// The bytes of all tensors together.
    [[nodiscard]] std::uint64_t nbytes() const {
        std::uint64_t sum = 0;
        for (const StoredTensor& t : tensors_) sum += t.data.size();
        return sum;
    }

  private:
    std::filesystem::path source_;
    std::vector<StoredTensor> tensors_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
};

namespace detail {

/// The shape and size of a tensor from dimensions that a file claims, outermost first. Throws FormatError if their
/// product overflows or is no whole number of blocks, UnsupportedError for more than four; `where` begins the message.
inline std::pair<Shape, std::uint64_t> checked_shape(std::string_view where, StorageType type,
                                                     std::span<const std::uint64_t> dims) {
    const auto written = [&dims] {
        std::string text;
        for (std::uint64_t d : dims) text += (text.empty() ? "" : ", ") + std::to_string(d);
        return "[" + text + "]";
    };
    if (dims.size() > Shape::max_rank)
        fail<UnsupportedError>(where, " has ", dims.size(), " dimensions ", written(), "; at most 4 are read");
    constexpr std::uint64_t most_elements = std::uint64_t{1} << 60;  // so that their bytes fit 64 bits in every type
    std::uint64_t elements = 1;
    bool fits = true, zero = false;
    for (std::uint64_t d : dims) {
        zero = zero || d == 0;
        fits = fits && d <= most_elements &&
               (d == 0 || (multiply_checked(elements, d, elements) && elements <= most_elements));
    }
    if (!fits) fail<FormatError>(where, " claims the shape ", written(), ", more elements than there can be");
    const auto block = static_cast<std::uint64_t>(storage_info(type).block_elements);
    if (block > 1 && (dims.empty() || dims.back() % block != 0))
        fail<FormatError>(where, " claims the shape ", written(), " in ", storage_name(type),
                          ", whose rows are whole blocks of ", block, " elements");
    Shape shape;
    for (std::uint64_t d : dims) shape.push_back(static_cast<Index>(d));
    std::uint64_t bytes = 0;
    require<FormatError>(storage_bytes(type, zero ? 0 : elements, bytes), where, " has a size beyond 64 bits");
    return {shape, bytes};
}

}  // namespace detail

}  // namespace l3::inline v0::io
