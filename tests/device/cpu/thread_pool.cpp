#include <atomic>
#include <doctest/doctest.h>
#include <filesystem>
#include <l3/device/cpu/thread_pool.hpp>
#include <sys/wait.h>

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

}  // namespace

TEST_CASE("thread_pool: every slot once, thousands of times") {
    for (int threads : {1, 2, 3, 8}) {
        ThreadPool pool(threads);
        Calls calls;
        for (int i = 0; i < 2000; ++i) pool.run(threads, &Calls::task, &calls);
        for (int slot = 0; slot < 16; ++slot) CHECK(calls.slot[slot] == (slot < threads ? 2000 : 0));
    }
}

TEST_CASE("thread_pool: fewer slots than threads") {
    ThreadPool pool(4);
    Calls calls;
    for (int i = 0; i < 100; ++i) pool.run(1 + i % 3, &Calls::task, &calls);
    CHECK(calls.slot[0] == 100);
    CHECK(calls.slot[1] == 66);
    CHECK(calls.slot[2] == 33);
    CHECK(calls.slot[3] == 0);
}

TEST_CASE("acceptance G05: threads end with their pool, and none starts before the first region") {
    const auto before = threads_of_process();
    {
        ThreadPool pool(4);
        CHECK(threads_of_process() == before);
        Calls calls;
        pool.run(4, &Calls::task, &calls);
        CHECK(threads_of_process() == before + 3);
    }
    CHECK(threads_of_process() == before);
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
    Calls calls;
    pool.run(3, &Calls::task, &calls);
    const pid_t child = fork();
    if (child == 0) {
        Calls own;
        {
            ThreadPool unused(2);
            for (int i = 0; i < 10; ++i) pool.run(3, &Calls::task, &own);
        }
        _exit(own.slot[0] == 10 && own.slot[1] == 10 && own.slot[2] == 10 ? 0 : 1);
    }
    int status = -1;
    REQUIRE(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    pool.run(3, &Calls::task, &calls);
    CHECK(calls.slot[2] == 2);
}
#endif
