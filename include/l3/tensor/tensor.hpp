#pragma once
#include "view.hpp"
#include <utility>

namespace l3::inline v0 {

/// A tensor that owns its elements: zeroed, 64-byte aligned. Moves are cheap; a copy is an explicit clone().
/// Is a TensorView of itself, so it is passed to operations as it is.
template <DType T, Device D>
class Tensor : public TensorView<T, D> {
  public:
    Tensor() = default;
    /// Throws ShapeError, OutOfMemoryError.
    explicit Tensor(const Shape& shape) : Tensor(Buffer<T, D>(shape.numel()), shape) {}
    Tensor(Tensor&& other) noexcept
        : TensorView<T, D>(std::exchange(other.view(), {})), buffer_(std::move(other.buffer_)) {}
    Tensor& operator=(Tensor&& other) noexcept {
        buffer_ = std::move(other.buffer_);
        view() = std::exchange(other.view(), {});
        return *this;
    }

    /// A copy with its own memory.
    [[nodiscard]] Tensor clone() const { return Tensor(buffer_.clone(), this->shape()); }

  private:
    Tensor(Buffer<T, D> buffer, const Shape& shape) : TensorView<T, D>(buffer.data(), shape), buffer_(std::move(buffer)) {}
    TensorView<T, D>& view() { return *this; }

    Buffer<T, D> buffer_;
};

}  // namespace l3::inline v0
