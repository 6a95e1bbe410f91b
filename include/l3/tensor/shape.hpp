#pragma once
#include "../core/error.hpp"
#include "../core/math.hpp"
#include <initializer_list>
#include <ostream>

namespace l3::inline v0 {

/// Up to four dimensions, outermost first: [rows, cols] of a matrix. Row-major everywhere.
class Shape {
  public:
    static constexpr int max_rank = 4;

    constexpr Shape() = default;
    /// Throws ShapeError for a negative dimension, more than four, or a product beyond 2^62.
    constexpr Shape(std::initializer_list<Index> dims) {
        require(dims.size() <= max_rank, "a shape has at most 4 dimensions, not ", dims.size());
        for (Index d : dims) push_back(d);
    }
    constexpr void push_back(Index dim) {
        require(rank_ < max_rank, "a shape has at most 4 dimensions");
        require(dim >= 0, "a dimension of ", dim);
        Index n = 0;
        require(!__builtin_mul_overflow(numel(), dim, &n) && n <= Index{1} << 62, "a shape of too many elements");
        dims_[rank_++] = dim;
    }

    [[nodiscard]] constexpr int rank() const { return rank_; }
    [[nodiscard]] constexpr Index operator[](int i) const { return dims_[i]; }
    [[nodiscard]] constexpr Index numel() const {
        Index n = 1;
        for (int i = 0; i < rank_; ++i) n *= dims_[i];
        return n;
    }
    /// All dimensions but the last as one, so that every tensor is also a matrix [rows, cols]; a vector is one row.
    [[nodiscard]] constexpr Index rows() const {
        Index n = 1;
        for (int i = 0; i + 1 < rank_; ++i) n *= dims_[i];
        return n;
    }
    [[nodiscard]] constexpr Index cols() const { return rank_ ? dims_[rank_ - 1] : 1; }

    friend constexpr bool operator==(const Shape&, const Shape&) = default;

  private:
    Index dims_[max_rank] = {};
    int rank_ = 0;
};

/// As in messages: [2048, 64].
inline std::ostream& operator<<(std::ostream& out, const Shape& shape) {
    out << '[';
    for (int i = 0; i < shape.rank(); ++i) out << (i ? ", " : "") << shape[i];
    return out << ']';
}

}  // namespace l3::inline v0
