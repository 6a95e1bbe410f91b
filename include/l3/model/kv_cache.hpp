#pragma once
#include "../ops/kv_view.hpp"
#include "../ops/positions.hpp"
#include "../tensor/shape.hpp"
#include "llama_config.hpp"
#include <cstring>

namespace l3::inline v0 {

/// The keys and values of one sequence in all layers, for up to capacity() positions; ops/kv_view.hpp has the layout.
/// On the CPU, memory that no position has touched yet costs nothing. One caller at a time.
template <DType T, Device D>
class KVCache {
  public:
    /// Throws ArgumentError for a capacity below 1 or beyond 2^31 - 1, ShapeError for a size beyond 2^62, OutOfMemoryError.
    KVCache(const LlamaConfig& config, Index capacity)
        : capacity_(checked(config, capacity)), num_hidden_layers_(config.num_hidden_layers),
          num_key_value_heads_(config.num_key_value_heads), head_dim_(config.head_dim),
          k_(Shape{num_hidden_layers_, k_elements()}.numel()), v_(Shape{num_hidden_layers_, v_elements()}.numel()) {}

    /// The bytes that the cache of a model needs for so many positions.
    [[nodiscard]] static std::uint64_t bytes_needed(const LlamaConfig& config, Index capacity) {
        const Index rounded = View::round_capacity(checked(config, capacity));
        const Index layer = View::k_elements(config.num_key_value_heads, config.head_dim, rounded) +
                            View::v_elements(config.num_key_value_heads, config.head_dim, rounded);
        return std::uint64_t(layer) * std::uint64_t(config.num_hidden_layers) * sizeof(T);
    }

    /// Positions that hold a token, [0, size).
    [[nodiscard]] Index size() const { return size_; }
    [[nodiscard]] Index capacity() const { return capacity_; }

    /// Takes the next n positions. Throws ContextFullError, changing nothing, if they are not free.
    Positions append(Index n) {
        require_room(n);
        const Positions positions{size_, n};
        size_ += n;
        return positions;
    }
    void require_room(Index n) const {
        require<ContextFullError>(n <= capacity_ - size_, size_ + n, " tokens do not fit the context of ", capacity_,
                                  " (", size_, " are in it)");
    }
    /// Forgets the positions from n on. Throws ArgumentError unless 0 <= n <= size(). Costs nothing.
    void truncate(Index n) {
        require<ArgumentError>(0 <= n && n <= size_, "truncate to ", n, " tokens: there are ", size_);
        size_ = n;
    }

    /// The cache of one layer, as the operations see it: k, v of all positions.
    [[nodiscard]] KVView<T, D> layer(int i) const {
        return {k_.data() + i * k_elements(), v_.data() + i * v_elements(), num_key_value_heads_, head_dim_, rounded()};
    }

    /// A copy with its own memory; of the positions that are used, nothing else is read or written.
    [[nodiscard]] KVCache clone() const
        requires std::same_as<D, CPU>
    {
        KVCache copy;
        copy.capacity_ = capacity_;
        copy.num_hidden_layers_ = num_hidden_layers_;
        copy.num_key_value_heads_ = num_key_value_heads_;
        copy.head_dim_ = head_dim_;
        copy.k_ = Buffer<T, D>(k_.count());
        copy.v_ = Buffer<T, D>(v_.count());
        copy.size_ = size_;
        const auto n = std::size_t(View::round_capacity(size_) * head_dim_) * sizeof(T);  // whole groups of a head
        for (int i = 0; n > 0 && i < num_hidden_layers_; ++i) {
            const View from = layer(i), to = copy.layer(i);
            for (int head = 0; head < num_key_value_heads_; ++head) {
                std::memcpy(to.k_group(head, 0), from.k_group(head, 0), n);
                std::memcpy(to.v_row(head, 0), from.v_row(head, 0), n);
            }
        }
        return copy;
    }

  private:
    using View = KVView<T, D>;

    KVCache() = default;

    static Index checked(const LlamaConfig& config, Index capacity) {
        require<ArgumentError>(capacity >= 1, "a context of ", capacity, " tokens; expected at least 1");
        require<ArgumentError>(capacity <= 0x7FFFFFFF, "a context of ", capacity, " tokens; expected at most 2^31 - 1");
        (void)Shape{config.num_hidden_layers, config.num_key_value_heads, capacity + View::group, config.head_dim};
        return capacity;
    }
    [[nodiscard]] Index rounded() const { return View::round_capacity(capacity_); }
    [[nodiscard]] Index k_elements() const { return View::k_elements(num_key_value_heads_, head_dim_, rounded()); }
    [[nodiscard]] Index v_elements() const { return View::v_elements(num_key_value_heads_, head_dim_, rounded()); }

    Index capacity_ = 0;
    Index size_ = 0;
    int num_hidden_layers_ = 0, num_key_value_heads_ = 0, head_dim_ = 0;
    Buffer<T, D> k_;  // [layers] of KVView's k
    Buffer<T, D> v_;  // [layers] of KVView's v
};

}  // namespace l3::inline v0
