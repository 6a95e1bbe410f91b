#include <doctest/doctest.h>
#include <l3/model/kv_cache.hpp>
#include <l3/device/cpu/memory.hpp>

using namespace l3;

namespace {

LlamaConfig small() {
    LlamaConfig c;
    c.num_hidden_layers = 3;
    c.num_key_value_heads = 2;
    c.head_dim = 6;
    return c;
}

}  // namespace

TEST_CASE_TEMPLATE("acceptance E12: KVCache: append, truncate, and the errors that change nothing", T, bf16, f32) {
    KVCache<T, CPU> cache(small(), 50);
    CHECK(cache.size() == 0);
    CHECK(cache.capacity() == 50);
    CHECK(cache.append(30) == Positions{0, 30});
    CHECK(cache.append(20) == Positions{30, 20});
    CHECK_THROWS_WITH_AS(cache.append(1), "51 tokens do not fit the context of 50 (50 are in it)", ContextFullError);
    CHECK_THROWS_WITH_AS(cache.truncate(51), "truncate to 51 tokens: there are 50", ArgumentError);
    CHECK_THROWS_AS(cache.truncate(-1), ArgumentError);
    CHECK(cache.size() == 50);
    cache.truncate(20);
    CHECK(cache.append(1) == Positions{20, 1});
    CHECK_NOTHROW(cache.require_room(29));
    CHECK_THROWS_AS(cache.require_room(30), ContextFullError);
    CHECK_THROWS_WITH_AS((KVCache<T, CPU>(small(), 0)), "a context of 0 tokens; expected at least 1", ArgumentError);
}

TEST_CASE_TEMPLATE("KVCache: layers do not overlap, and are aligned to 64 bytes", T, bf16, f32) {
    KVCache<T, CPU> cache(small(), 17);
    for (int i = 0; i < 3; ++i) {
        const KVView<T, CPU> kv = cache.layer(i);
        CHECK(kv.capacity == 32);
        CHECK(kv.num_key_value_heads == 2);
        CHECK(kv.head_dim == 6);
        CHECK(reinterpret_cast<std::uintptr_t>(kv.k) % 64 == 0);
        CHECK(reinterpret_cast<std::uintptr_t>(kv.v) % 64 == 0);
        if (i == 2) continue;
        CHECK(cache.layer(i + 1).k - kv.k >= kv.k_elements(2, 6, 32));
        CHECK(cache.layer(i + 1).v - kv.v >= kv.v_elements(2, 6, 32));
    }
    CHECK(KVCache<T, CPU>::bytes_needed(small(), 17) == 3 * (2 * 32 * 6 * 2 + 32) * sizeof(T));
    LlamaConfig huge = small();
    huge.num_hidden_layers = huge.num_key_value_heads = huge.head_dim = 2147483646;
    CHECK_THROWS_AS((void)(KVCache<T, CPU>::bytes_needed(huge, 4096)), ShapeError);
    CHECK_THROWS_AS((KVCache<T, CPU>(huge, 4096)), ShapeError);
}

TEST_CASE_TEMPLATE("KVCache: a clone holds the same positions and goes its own way", T, bf16, f32) {
    KVCache<T, CPU> cache(small(), 100);
    const auto value = [](int layer, int head, Index position, int d) {
        return f32(layer * 1000 + head * 500 + int(position) * 6 + d) / 8;
    };
    const Positions positions = cache.append(37);
    for (int i = 0; i < 3; ++i)
        for (int head = 0; head < 2; ++head)
            for (Index p = 0; p < positions.end(); ++p) {
                f32 row[6];
                for (int d = 0; d < 6; ++d) row[d] = value(i, head, p, d);
                cache.layer(i).store_k(head, p, row);
                cache.layer(i).store_v(head, p, row);
            }
    const KVCache<T, CPU> copy = cache.clone();
    CHECK(copy.size() == 37);
    CHECK(copy.capacity() == 100);
    for (int i = 0; i < 3; ++i) *cache.layer(i).k = *cache.layer(i).v = T(f32(-1));
    std::size_t different = 0;
    for (int i = 0; i < 3; ++i)
        for (int head = 0; head < 2; ++head)
            for (Index p = 0; p < 37; ++p)
                for (int d = 0; d < 6; ++d) {
                    const T expected(value(i, head, p, d));
                    different += !(copy.layer(i).k_at(head, p, d) == expected);
                    different += !(copy.layer(i).v_row(head, p)[d] == expected);
                }
    CHECK(different == 0);
}
