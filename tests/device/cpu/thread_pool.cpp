#include <atomic>
#include <chrono>
#include <doctest/doctest.h>
#include <filesystem>
#include <l3/device/cpu/thread_pool.hpp>
#include <sys/wait.h>
#include <thread>

using namespace l3;
using cpu::ThreadPool;

namespace {

std::ptrdiff_t threads_of_process() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// Counts the calls of a region by slot.
struct Calls {
    std::atomic<int> slot[16] = {};
    static void task(void* self, int slot) { ++static_cast<Calls*>(self)->slot[slot]; }
};

/// Ends when all of its slots are there.
struct Meeting {
    Calls calls;
    int slots;
    std::atomic<int> arrived{0};
    static void task(void* self, int slot) {
        auto* const meeting = static_cast<Meeting*>(self);
        Calls::task(&meeting->calls, slot);
        ++meeting->arrived;
        while (meeting->arrived < meeting->slots) std::this_thread::yield();
    }
};

}  // namespace

TEST_CASE("thread_pool: slot 0 once and the others at most once in a region, thousands of times") {
    for (int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        int wrong = 0;
        for (int i = 0; i < 2000; ++i) {
            Calls calls;
            const int slots = 1 + i % threads;
            pool.run(slots, &Calls::task, &calls);
            for (int slot = 0; slot < 16; ++slot) {
                const int n = calls.slot[slot];
                wrong += slot == 0 ? n != 1 : n > (slot < slots ? 1 : 0);
            }
        }
        CHECK(wrong == 0);
    }
}

TEST_CASE("thread_pool: all threads take part where the work goes on for long enough") {
    for (int slots : {2, 3, 8}) {
        ThreadPool pool(8);
        for (int i = 0; i < 100; ++i) {
            Meeting meeting{{}, slots};
            pool.run(slots, &Meeting::task, &meeting);
            for (int slot = 0; slot < 16; ++slot) REQUIRE(meeting.calls.slot[slot] == (slot < slots ? 1 : 0));
        }
    }
}

TEST_CASE("thread_pool: a region waits for those that began, however long they take") {
    struct Slow {
        std::atomic<int> began{0}, ended{0};
        static void task(void* self, int slot) {
            auto* const slow = static_cast<Slow*>(self);
            ++slow->began;
            if (slot == 0) while (slow->began < 2) std::this_thread::yield();
            else std::this_thread::sleep_for(std::chrono::milliseconds(2));
            ++slow->ended;
        }
    };
    ThreadPool pool(4);
    for (int i = 0; i < 50; ++i) {
        Slow slow;
        pool.run(4, &Slow::task, &slow);
        REQUIRE(slow.began >= 2);
        REQUIRE(slow.ended == slow.began);
    }
}

TEST_CASE("acceptance G05: threads end with their pool, and none starts before the first region") {
    // A thread that was joined can stay in the list of the system for a moment.
    const auto are = [](std::ptrdiff_t wanted) {
        for (int i = 0; i < 5000 && threads_of_process() != wanted; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        return threads_of_process() == wanted;
    };
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const auto before = threads_of_process();
    {
        ThreadPool pool(4);
        CHECK(threads_of_process() == before);
        Calls calls;
        pool.run(4, &Calls::task, &calls);
        CHECK(threads_of_process() == before + 3);
    }
    CHECK(are(before));
}

TEST_CASE("thread_pool: a region that finds it busy runs on the calling thread") {
    ThreadPool pool(2);
    struct Outer {
        ThreadPool& pool;
        Calls inner;
    } outer{pool, {}};
    pool.run(2, [](void* p, int slot) {
        auto* self = static_cast<Outer*>(p);
        if (slot == 0) self->pool.run(2, &Calls::task, &self->inner);  // from within a region
    }, &outer);
    CHECK(outer.inner.slot[0] == 1);
    CHECK(outer.inner.slot[1] == 0);

    std::vector<std::jthread> hosts;
    std::vector<Calls> calls(4);
    for (auto& c : calls) hosts.emplace_back([&pool, &c] { for (int i = 0; i < 500; ++i) pool.run(2, &Calls::task, &c); });
    hosts.clear();
    for (auto& c : calls) CHECK(c.slot[0] == 500);
}

TEST_CASE("thread_pool: fewer threads than one is an error") {
    CHECK_THROWS_WITH_AS(ThreadPool(0), "threads is 0, expected at least 1", ArgumentError);
    CHECK_THROWS_WITH_AS(ThreadPool(-3), "threads is -3, expected at least 1", ArgumentError);
}

#if !defined(__SANITIZE_THREAD__)  // the thread sanitizer does not follow threads into a forked child
TEST_CASE("thread_pool: a forked child makes threads of its own") {
    ThreadPool pool(3);
    Meeting before{{}, 3}, after{{}, 3};
    pool.run(3, &Meeting::task, &before);
    const pid_t child = fork();
    if (child == 0) {
        Meeting own{{}, 3};
        {
            ThreadPool unused(2);
            pool.run(3, &Meeting::task, &own);
        }
        _exit(own.calls.slot[0] == 1 && own.calls.slot[1] == 1 && own.calls.slot[2] == 1 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    pool.run(3, &Meeting::task, &after);
    CHECK(after.calls.slot[2] == 1);
}
#endif
