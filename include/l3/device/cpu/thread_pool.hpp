#pragma once
#include "../../core/error.hpp"
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <unistd.h>
#include <vector>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace l3::inline v0::cpu {

/// Where parallel regions run. A host with threads of its own derives from this and hands it to a Context.
class Executor {
  public:
    virtual ~Executor() = default;
    /// The most slots that run() is asked for.
    [[nodiscard]] virtual int threads() const noexcept = 0;
    /// Calls task(data, slot) for slot 0 and for any of the slots below `slots`, each at most once, on any threads, and
    /// returns when these calls have returned. Slots share the work among themselves, so slot 0 alone does all of it.
    /// The task does not throw.
    virtual void run(int slots, void (*task)(void* data, int slot), void* data) = 0;
};

/// A small pool of persistent threads. They spin for some microseconds after a region, then yield, then sleep: an idle
/// pool uses no processor time. A region waits for none that has not begun by the time the work is done, so a thread that
/// the system lets wait holds nobody up. A region that finds the pool busy runs on the calling thread alone. After
/// fork() the child makes threads of its own.
class ThreadPool final : public Executor {
  public:
    /// Threads are started by the first region, threads - 1 of them: the caller is one. Throws ArgumentError below 1.
    explicit ThreadPool(int threads) : threads_(threads) {
        require<ArgumentError>(threads >= 1, "threads is ", threads, ", expected at least 1");
    }
    ~ThreadPool() override { forget_after_fork(); }
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    [[nodiscard]] int threads() const noexcept override { return threads_; }

    void run(int slots, void (*task)(void*, int), void* data) override {
        const std::unique_lock lock(busy_, std::try_to_lock);
        if (slots <= 1 || threads_ <= 1 || !lock) return task(data, 0);
        forget_after_fork();
        if (!workers_) workers_ = std::make_unique<Workers>(threads_ - 1);
        workers_->run(slots, task, data);
    }

  private:
    struct Workers {
        std::vector<std::jthread> threads;
        pid_t process = getpid();
        std::atomic<unsigned> region{0};  // counts regions: wakes who waits for one
        std::atomic<unsigned> places{0};  // of the region that is open, still to be taken; 0: none, or closed
        std::atomic<unsigned> left{0};    // how many took a place and have ended
        std::atomic<bool> stop{false};
        int slots = 0;                    // with task and data: read only by those that have a place
        void (*task)(void*, int) = nullptr;
        void* data = nullptr;

        explicit Workers(int count) {
            threads.reserve(std::size_t(count));
            try {
                for (int i = 0; i < count; ++i) threads.emplace_back([this] { work(); });
            } catch (const std::system_error&) {
                // Fewer threads than asked for: those that started do all of the work.
            }
        }
        ~Workers() {
            stop = true;
            region.fetch_add(1, std::memory_order_release);
            region.notify_all();
        }
        void run(int wanted, void (*f)(void*, int), void* argument) {
            slots = wanted;
            task = f;
            data = argument;
            left.store(0, std::memory_order_relaxed);
            places.store(unsigned(wanted) - 1, std::memory_order_release);
            region.fetch_add(1, std::memory_order_release);
            region.notify_all();
            f(argument, 0);
            const unsigned taken = unsigned(wanted) - 1 - places.exchange(0, std::memory_order_acq_rel);
            for (unsigned n; (n = left.load(std::memory_order_acquire)) != taken;) wait_while(left, n);
        }
        void work() {
            for (unsigned seen = 0;;) {
                wait_while(region, seen);
                seen = region.load(std::memory_order_acquire);
                if (stop) return;
                unsigned place = places.load(std::memory_order_relaxed);
                while (place != 0 && !places.compare_exchange_weak(place, place - 1, std::memory_order_acquire)) {}
                if (place == 0) continue;
                task(data, slots - int(place));
                left.fetch_add(1, std::memory_order_release);
                left.notify_one();
            }
        }
        /// Returns when the value is no longer this one: spins, yields, sleeps.
        static void wait_while(const std::atomic<unsigned>& value, unsigned old) {
            constexpr int spins = 2000, yields = 50;
            for (int i = 0; i < spins + yields; ++i) {
                if (value.load(std::memory_order_acquire) != old) return;
                if (i < spins) pause();
                else std::this_thread::yield();
            }
            value.wait(old, std::memory_order_acquire);
        }
        static void pause() {
#if defined(__x86_64__)
            _mm_pause();
#else
            asm volatile("yield");
#endif
        }
    };

    void forget_after_fork() {
        // In the child there are no such threads: nothing to join, and waking them would wait for ever.
        if (workers_ && workers_->process != getpid()) (void)workers_.release();
    }

    int threads_;
    std::mutex busy_;
    std::unique_ptr<Workers> workers_;
};

}  // namespace l3::inline v0::cpu
