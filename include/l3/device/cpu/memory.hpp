#pragma once
#include "../../core/error.hpp"
#include "../../core/math.hpp"
#include "../device.hpp"
#include <cstring>
#include <sys/mman.h>
#include <type_traits>
#include <utility>

namespace l3::inline v0 {

template <> inline constexpr bool device_is_included<CPU> = true;

/// Asks the system to back memory with huge pages: a hint, for what is read from front to back again and again.
inline void prefer_huge_pages(const void* memory, std::uint64_t bytes) {
    constexpr std::uintptr_t page = 4096;
    const auto begin = align_up(reinterpret_cast<std::uintptr_t>(memory), page);
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + bytes) / page * page;
    if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

/// Zeroed memory for elements of T, aligned to 64 bytes. Large buffers come straight from the system, so that pages
/// that are never touched (the unused part of a KV cache) cost nothing.
template <class T>
class Buffer<T, CPU> {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Buffer() = default;
    /// Throws OutOfMemoryError naming the bytes asked for.
    explicit Buffer(Index count) : count_(count) {
        if (count == 0) return;
        void* p = MAP_FAILED;
        if (std::uint64_t bytes = 0; multiply_checked(std::uint64_t(count), sizeof(T), bytes) && bytes < std::uint64_t{1} << 47)
            p = mmap(nullptr, nbytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED) {
            const auto bytes = std::size_t(std::exchange(count_, 0)) * sizeof(T);
            throw OutOfMemoryError(message("no memory for ", count, " elements of ", sizeof(T), " bytes"), bytes);
        }
        data_ = static_cast<T*>(p);
    }
    Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    Buffer& operator=(Buffer&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~Buffer() {
        if (data_) munmap(data_, nbytes());
    }

    [[nodiscard]] T* data() const { return data_; }
    [[nodiscard]] Index count() const { return count_; }
    /// A copy with its own memory.
    [[nodiscard]] Buffer clone() const {
        Buffer copy(count_);
        if (data_) std::memcpy(copy.data_, data_, nbytes());
        return copy;
    }

  private:
    [[nodiscard]] std::size_t nbytes() const { return std::size_t(count_) * sizeof(T); }

    T* data_ = nullptr;
    Index count_ = 0;
};

}  // namespace l3::inline v0
