#pragma once
#include "../device/device.hpp"
#include "../dtype/dtype.hpp"
#include "shape.hpp"
#include <type_traits>

namespace l3::inline v0 {

/// A row-major tensor somewhere on device D that it does not own: pointer and shape, 8-byte copies. T may be const.
template <class T, Device D>
class TensorView {
  public:
    using value_type = std::remove_const_t<T>;

    constexpr TensorView() = default;
    constexpr TensorView(T* data, const Shape& shape) : data_(data), shape_(shape) {}
    /// A view of the same elements that does not change them.
    constexpr operator TensorView<const T, D>() const
        requires(!std::is_const_v<T>)
    {
        return {data_, shape_};
    }

    [[nodiscard]] L3_HOST_DEVICE constexpr T* data() const { return data_; }
    [[nodiscard]] constexpr const Shape& shape() const { return shape_; }
    [[nodiscard]] constexpr Index rows() const { return shape_.rows(); }
    [[nodiscard]] constexpr Index cols() const { return shape_.cols(); }
    [[nodiscard]] constexpr Index numel() const { return shape_.numel(); }
    [[nodiscard]] constexpr std::uint64_t nbytes() const { return std::uint64_t(numel()) * sizeof(T); }
    [[nodiscard]] constexpr bool empty() const { return numel() == 0; }
    /// True unless default-constructed: optional weights are views that may be absent.
    constexpr explicit operator bool() const { return data_ != nullptr; }

    /// The first element of a row.
    [[nodiscard]] L3_HOST_DEVICE constexpr T* row(Index i) const { return data_ + i * shape_.cols(); }
    /// Rows [begin, end) as a matrix. Throws ShapeError if they are not all there.
    [[nodiscard]] constexpr TensorView slice_rows(Index begin, Index end) const {
        require(0 <= begin && begin <= end && end <= rows(), "rows ", begin, " to ", end, " of ", shape_);
        return {row(begin), {end - begin, cols()}};
    }
    /// The same elements under another shape. Throws ShapeError if their number differs.
    [[nodiscard]] constexpr TensorView reshape(const Shape& shape) const {
        require(shape.numel() == numel(), shape_, " cannot be seen as ", shape);
        return {data_, shape};
    }

    friend std::ostream& operator<<(std::ostream& out, const TensorView& view) { return out << view.shape_; }

  private:
    T* data_ = nullptr;
    Shape shape_{0};
};

}  // namespace l3::inline v0
