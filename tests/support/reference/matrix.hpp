#pragma once
// The matrices of the double-precision references. They take views of the library's tensors, and nothing else of it.
#include <cstdint>
#include <cstring>
#include <l3/tensor/view.hpp>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <vector>

namespace reference {

/// A double from what the library stores: f32 and f64 as they are, bf16 by its bits.
template <class T>
double to_double(T x) {
    if constexpr (std::is_arithmetic_v<T>) {
        return double(x);
    } else {
        const std::uint32_t u = std::uint32_t{x.bits} << 16;
        float f;
        std::memcpy(&f, &u, sizeof f);
        return double(f);
    }
}

/// Row-major [rows, cols].
struct Matrix {
    std::int64_t rows = 0, cols = 0;
    std::vector<double> values;

    Matrix() = default;
    Matrix(std::int64_t r, std::int64_t c) : rows(r), cols(c), values(std::size_t(r * c)) {}
    template <class X>
    Matrix(const l3::TensorView<X, l3::CPU>& view) : Matrix(view.rows(), view.cols()) {
        for (std::int64_t i = 0; i < rows * cols; ++i) values[std::size_t(i)] = to_double(view.data()[i]);
    }
    template <class X>
    Matrix(std::int64_t r, std::int64_t c, std::span<const X> elements) : Matrix(r, c) {
        if (std::int64_t(elements.size()) != r * c) throw std::logic_error("a Matrix of another number of elements");
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = to_double(elements[i]);
    }

    double& operator()(std::int64_t r, std::int64_t c) { return values[std::size_t(r * cols + c)]; }
    double operator()(std::int64_t r, std::int64_t c) const { return values[std::size_t(r * cols + c)]; }
    [[nodiscard]] const double* row(std::int64_t r) const { return values.data() + r * cols; }
    [[nodiscard]] double* row(std::int64_t r) { return values.data() + r * cols; }
    /// True if it is there: optional biases are empty matrices.
    explicit operator bool() const { return !values.empty(); }
};

/// Stops a test that puts the wrong shapes together.
inline void check(bool condition, const char* what) {
    if (!condition) throw std::logic_error(what);
}

}  // namespace reference
