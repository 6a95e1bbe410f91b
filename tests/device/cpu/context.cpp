#include <doctest/doctest.h>
#include <l3/device/cpu/context.hpp>
#include <cstdint>
#include <thread>
#include <tuple>
#include <vector>
#include <l3/dtype/dtype.hpp>

using namespace l3;

TEST_CASE("context: parallel covers every element once, in pieces of at least the grain") {
    for (int threads : {1, 2, 5}) {
        Context<CPU> ctx(threads);
        for (Index n : {0, 1, 2, 7, 64, 1000}) {
            for (Index grain : {0, 1, 3, 100, 5000}) {
                CAPTURE(threads); CAPTURE(n); CAPTURE(grain);
                std::vector<std::atomic<int>> seen(std::size_t(n) + 1);
                std::atomic<int> bad{0};
                ctx.parallel(n, grain, [&](Index begin, Index end, int slot) {
                    bad += !(0 <= begin && begin < end && end <= n && 0 <= slot && slot < threads);
                    bad += end - begin < grain && end != n;
                    for (Index i = begin; i < end; ++i) ++seen[std::size_t(i)];
                });
                CHECK(bad == 0);
                for (Index i = 0; i < n; ++i) REQUIRE(seen[std::size_t(i)] == 1);
            }
        }
    }
}

TEST_CASE("context: an exception in a region reaches the caller, and the next region runs") {
    Context<CPU> ctx(3);
    CHECK_THROWS_WITH_AS(ctx.parallel(1000, 1, [](Index, Index, int) { fail<FormatError>("broken"); }), "broken", FormatError);
    std::atomic<Index> sum{0};
    ctx.parallel(1000, 1, [&](Index begin, Index end, int) { sum += end - begin; });
    CHECK(sum == 1000);
}

TEST_CASE("acceptance I07: a requested stop is an exception before any work") {
    Context<CPU> ctx(2);
    std::stop_source source;
    ctx.set_stop_token(source.get_token());
    int calls = 0;
    ctx.serial([&] { ++calls; });
    source.request_stop();
    CHECK_THROWS_AS(ctx.serial([&] { ++calls; }), CancelledError);
    CHECK_THROWS_AS(ctx.parallel(5, 1, [&](Index, Index, int) { ++calls; }), CancelledError);
    ctx.set_stop_token({});
    ctx.serial([&] { ++calls; });
    CHECK(calls == 2);
}

TEST_CASE("context: scratch memory is aligned, kept, grown, and one piece per purpose") {
    Context<CPU> ctx(1);
    f32* a = ctx.scratch<f32>(Scratch::dots, 100);
    f32* b = ctx.scratch<f32>(Scratch::rows, 100);
    CHECK(a != b);
    CHECK(reinterpret_cast<std::uintptr_t>(a) % 64 == 0);
    a[99] = 5;
    CHECK(ctx.scratch<f32>(Scratch::dots, 50) == a);
    f32* larger = ctx.scratch<f32>(Scratch::dots, 1 << 20);
    larger[(1 << 20) - 1] = 1;
    CHECK(ctx.scratch<f32>(Scratch::rows, 100) == b);
}

TEST_CASE("context: a host's executor runs the regions, whatever it does with the slots") {
    struct Serial final : cpu::Executor {
        int regions = 0;
        int threads() const noexcept override { return 4; }
        void run(int slots, void (*task)(void*, int), void* data) override {
            ++regions;
            for (int slot = slots - 1; slot >= 0; --slot) task(data, slot);
        }
    };
    const auto executor = std::make_shared<Serial>();
    Context<CPU> ctx(executor);
    CHECK(ctx.threads() == 4);
    Index sum = 0;
    ctx.parallel(100, 1, [&](Index begin, Index end, int) { sum += end - begin; });
    CHECK(sum == 100);
    CHECK(executor->regions == 1);
}

TEST_CASE("context: threads as asked for") {
    CHECK(Context<CPU>(7).threads() == 7);
    CHECK(Context<CPU>().threads() == cpu::default_threads());
    CHECK_THROWS_WITH_AS(Context<CPU>(0), "threads is 0, expected at least 1", ArgumentError);
}

TEST_CASE("acceptance G03: more threads than cores, in many contexts at once, do all of their work") {
    const int threads = 2 * cpu::default_threads() + 1;
    std::atomic<Index> wrong{0};
    std::vector<std::jthread> callers;
    for (int caller = 0; caller < 8; ++caller)
        callers.emplace_back([&] {
            Context<CPU> ctx(threads);
            for (int region = 0; region < 200; ++region) {
                std::atomic<Index> sum{0};
                ctx.parallel(1000, 1, [&](Index begin, Index end, int) { sum += end - begin; });
                wrong += sum != 1000;
            }
        });
    callers.clear();
    CHECK(wrong == 0);
}

TEST_CASE("acceptance G12: work below the grain wakes no thread") {
    struct Counting final : cpu::Executor {
        int most_slots = 0;
        int threads() const noexcept override { return 8; }
        void run(int slots, void (*task)(void*, int), void* data) override {
            most_slots = std::max(most_slots, slots);
            task(data, 0);
        }
    };
    for (auto [n, grain, slots] : {std::tuple{100, 100, 0}, {100, 99, 2}, {100, 50, 2}, {1000, 100, 8}, {7, 1, 7}}) {
        const auto executor = std::make_shared<Counting>();
        Context<CPU> ctx(executor);
        ctx.parallel(n, grain, [](Index, Index, int) {});
        CHECK(executor->most_slots == slots);
    }
}
