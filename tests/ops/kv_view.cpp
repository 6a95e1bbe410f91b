#include "support/random.hpp"
#include <doctest/doctest.h>
#include <l3/ops/kv_view.hpp>
#include <set>

using namespace l3;

namespace {

template <class T>
struct Cache {
    int Nkv, Dh;
    Index capacity;
    support::TestTensor<T> k{Shape{KVView<T, CPU>::k_elements(Nkv, Dh, capacity)}};
    support::TestTensor<T> v{Shape{KVView<T, CPU>::v_elements(Nkv, Dh, capacity)}};

    KVView<T, CPU> view() const { return {k.data(), v.data(), Nkv, Dh, capacity}; }
};

}  // namespace

TEST_CASE_TEMPLATE("kv_view: every element of keys and values has its own place", T, bf16, f32) {
    for (int Nkv : {1, 3})
        for (int Dh : {2, 6, 24, 64}) {
            const Cache<T> cache{Nkv, Dh, 48};
            const KVView<T, CPU> kv = cache.view();
            std::set<const T*> keys, values;
            for (int head = 0; head < Nkv; ++head)
                for (Index position = 0; position < 48; ++position)
                    for (int d = 0; d < Dh; ++d) {
                        keys.insert(&kv.k_at(head, position, d));
                        values.insert(kv.v_row(head, position) + d);
                    }
            const auto elements = std::size_t(Nkv * 48 * Dh);
            CHECK(keys.size() == elements);
            CHECK(*keys.begin() == cache.k.data());
            CHECK(*keys.rbegin() == cache.k.data() + elements - 1);
            CHECK(Index(elements) == cache.k.numel());
            CHECK(values.size() == elements);
            CHECK(*values.rbegin() == cache.v.data() + elements - 1);
            CHECK(Index(elements) + kv.slack == cache.v.numel());
        }
}

TEST_CASE("kv_view: keys of bf16 stand in groups of positions, pairs of dimensions adjacent") {
    const Cache<bf16> cache{2, 6, 32};
    const KVView<bf16, CPU> kv = cache.view();
    const auto at = [&](int head, Index position, int d) { return &kv.k_at(head, position, d) - kv.k; };
    CHECK(at(0, 0, 0) == 0);
    CHECK(at(0, 0, 1) == 1);
    CHECK(at(0, 1, 0) == 2);
    CHECK(at(0, 15, 1) == 31);
    CHECK(at(0, 0, 2) == 32);
    CHECK(at(0, 16, 0) == 16 * 6);
    CHECK(at(1, 0, 0) == 32 * 6);
    CHECK(kv.k_group(1, 17) - kv.k == 32 * 6 + 16 * 6);
}

TEST_CASE("kv_view: keys of f32 stand in groups of positions") {
    const Cache<f32> cache{2, 6, 32};
    const KVView<f32, CPU> kv = cache.view();
    const auto at = [&](int head, Index position, int d) { return &kv.k_at(head, position, d) - kv.k; };
    CHECK(at(0, 1, 0) == 1);
    CHECK(at(0, 0, 1) == 16);
    CHECK(at(0, 15, 5) == 95);
    CHECK(at(1, 16, 0) == 32 * 6 + 16 * 6);
}

TEST_CASE_TEMPLATE("kv_view: what is stored is rounded once and changes nothing else", T, bf16, f32) {
    const Cache<T> cache{2, 24, 32};
    const KVView<T, CPU> kv = cache.view();
    const auto key = support::random<f32>({1, 24}), value = support::random<f32>({1, 24});
    kv.store_k(1, 17, key.data());
    kv.store_v(1, 17, value.data());
    Index others = 0;
    for (int head = 0; head < 2; ++head)
        for (Index position = 0; position < 32; ++position)
            for (int d = 0; d < 24; ++d) {
                const bool stored = head == 1 && position == 17;
                const T k = kv.k_at(head, position, d), v = kv.v_row(head, position)[d];
                if (stored) CHECK(f32(k) == f32(T(key.data()[d])));
                if (stored) CHECK(f32(v) == f32(T(value.data()[d])));
                if (!stored) others += f32(k) != 0 || f32(v) != 0;
            }
    CHECK(others == 0);
}

TEST_CASE("kv_view: capacities are whole groups, and layers keep their alignment") {
    using View = KVView<bf16, CPU>;
    static_assert(View::round_capacity(1) == 16);
    static_assert(View::round_capacity(16) == 16);
    static_assert(View::round_capacity(17) == 32);
    for (int Dh : {2, 6, 24, 80}) {
        CHECK(View::k_elements(3, Dh, 48) % 32 == 0);
        CHECK(View::v_elements(3, Dh, 48) % 32 == 0);
    }
    CHECK(View::k_elements(8, 128, Index{1} << 24) == Index{1} << 34);
}
