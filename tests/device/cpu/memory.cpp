#include <doctest/doctest.h>
#include <cstdint>
#include <l3/device/cpu/memory.hpp>
#include <l3/dtype/dtype.hpp>

using namespace l3;

TEST_CASE("memory: zeroed, aligned, moved, cloned") {
    Buffer<f32, CPU> a(1001);
    CHECK(reinterpret_cast<std::uintptr_t>(a.data()) % 64 == 0);
    for (Index i = 0; i < a.count(); ++i) REQUIRE(a.data()[i] == 0);
    a.data()[7] = 3;
    const Buffer<f32, CPU> copy = a.clone();
    Buffer<f32, CPU> b = std::move(a);
    CHECK(b.data()[7] == 3);
    CHECK(copy.data()[7] == 3);
    CHECK(copy.data() != b.data());
    b = Buffer<f32, CPU>(3);
    CHECK(b.count() == 3);
    CHECK(Buffer<bf16, CPU>(0).data() == nullptr);
    CHECK(Buffer<bf16, CPU>().clone().data() == nullptr);
}

TEST_CASE("memory: what cannot be had is an exception that says how much was asked for") {
    CHECK_THROWS_WITH_AS((Buffer<f32, CPU>(Index{1} << 60)), "no memory for 1152921504606846976 elements of 4 bytes",
                         OutOfMemoryError);
    try {
        const Buffer<f32, CPU> huge(Index{1} << 50);
    } catch (const OutOfMemoryError& error) {
        CHECK(error.requested_bytes == std::size_t{1} << 52);
    }
}

TEST_CASE("memory: pages that are not touched cost nothing") {
    const Buffer<bf16, CPU> cache(Index{1} << 31);
    cache.data()[Index{1} << 30] = bf16(1.0f);
    CHECK(f32(cache.data()[Index{1} << 30]) == 1.0f);
}

TEST_CASE("memory: the hint for huge pages leaves contents and neighbours alone, for any range") {
    constexpr Index count = 3 << 20;
    Buffer<std::uint8_t, CPU> memory(count);
    for (Index i = 0; i < count; i += 1000) memory.data()[i] = std::uint8_t(i);
    for (Index begin : {Index{0}, Index{1}, Index{4095}, Index{4096}})
        for (Index bytes : {Index{0}, Index{1}, Index{5000}, count - begin}) prefer_huge_pages(memory.data() + begin, std::uint64_t(bytes));
    Index wrong = 0;
    for (Index i = 0; i < count; i += 1000) wrong += memory.data()[i] != std::uint8_t(i);
    CHECK(wrong == 0);
}
