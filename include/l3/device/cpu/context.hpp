#pragma once
#include "../../core/error.hpp"
#include "../../core/math.hpp"
#include "../device.hpp"
#include "default_threads.hpp"
#include "float_mode.hpp"
#include "memory.hpp"
#include "thread_pool.hpp"
#include <algorithm>
#include <array>
#include <exception>
#include <stop_token>

namespace l3::inline v0 {

/// Scratch memory of a context, one piece per purpose, so that pieces in use at the same time do not meet.
enum class Scratch { packed_input, packed_weights, dots, row_pointers, rows, gathered_rows, attention, count };

/// Bytes of weights times tokens below which a second thread costs more than it brings.
inline constexpr Index work_per_thread = 1 << 16;

/// The same for operations that touch each element of a row a few times: rows of so many columns.
[[nodiscard]] constexpr Index rows_per_thread(Index cols) { return ceil_div<Index>(1 << 14, cols + 1); }

/// Threads and scratch memory for the operations of one caller. Many contexts share one executor; none is used by two
/// threads at once. Arithmetic of the library runs in parallel() and serial(), in the library's floating-point mode.
template <>
class Context<CPU> {
  public:
    /// A pool of its own with the default number of threads.
    Context() : Context(cpu::default_threads()) {}
    /// Throws ArgumentError for fewer threads than one.
    explicit Context(int threads) : Context(std::make_shared<cpu::ThreadPool>(threads)) {}
    explicit Context(std::shared_ptr<cpu::Executor> executor) : executor_(std::move(executor)) {}

    [[nodiscard]] const std::shared_ptr<cpu::Executor>& executor() const { return executor_; }
    [[nodiscard]] int threads() const { return executor_->threads(); }

    /// From now on operations throw CancelledError, before any work, once a stop is requested.
    void set_stop_token(std::stop_token token) { stop_ = std::move(token); }

    /// Calls f(begin, end, slot) for pieces that make up [0, n), at least `grain` long, on up to threads() threads; slot
    /// counts these threads. Rethrows the first exception of f after all pieces have ended. Throws CancelledError.
    template <class F>
    void parallel(Index n, Index grain, const F& f) {
        throw_if_stopped();
        if (n <= 0) return;
        grain = std::max<Index>(grain, 1);
        const auto slots = int(std::min<Index>(threads(), ceil_div(n, grain)));
        // A few pieces per thread: a thread that the system slows down takes fewer.
        Region<F> region{f, n, slots == 1 ? n : std::max(grain, ceil_div<Index>(n, Index{slots} * 8)), 0, {}, {}};
        if (slots == 1) Region<F>::enter(&region, 0);
        else executor_->run(slots, &Region<F>::enter, &region);
        if (region.error) std::rethrow_exception(region.error);
    }

    /// Calls f() on this thread. Throws CancelledError.
    template <class F>
    void serial(const F& f) {
        throw_if_stopped();
        cpu::in_float_mode(f);
    }

    /// Room for `count` elements, aligned to 64 bytes; its content and address last until the next call for the same
    /// purpose. Not for use inside of parallel(). Throws OutOfMemoryError.
    template <class T>
    T* scratch(Scratch purpose, Index count) {
        auto& buffer = scratch_[std::size_t(purpose)];
        const Index bytes = count * Index{sizeof(T)};
        if (buffer.count() < bytes) {
            buffer = {};
            buffer = Buffer<std::byte, CPU>(bytes + bytes / 4);
        }
        return reinterpret_cast<T*>(buffer.data());
    }

  private:
    template <class F>
    struct Region {
        const F& f;
        Index n, piece;
        std::atomic<Index> next;
        std::atomic<bool> failed;
        std::exception_ptr error;

        static void enter(void* region, int slot) {
            auto* self = static_cast<Region*>(region);
            cpu::in_float_mode([self, slot] { self->work(slot); });
        }
        void work(int slot) {
            try {
                for (Index begin; (begin = next.fetch_add(piece, std::memory_order_relaxed)) < n;)
                    f(begin, std::min(begin + piece, n), slot);
            } catch (...) {
                next.store(n, std::memory_order_relaxed);
                if (!failed.exchange(true)) error = std::current_exception();
            }
        }
    };

    void throw_if_stopped() const {
        if (stop_.stop_requested()) fail<CancelledError>("stopped on request");
    }

    std::shared_ptr<cpu::Executor> executor_;
    std::stop_token stop_;
    std::array<Buffer<std::byte, CPU>, std::size_t(Scratch::count)> scratch_;
};

}  // namespace l3::inline v0
