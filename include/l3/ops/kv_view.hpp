#pragma once
#include "../core/math.hpp"
#include "../device/device.hpp"
#include "../dtype/dtype.hpp"
#include <type_traits>

namespace l3::inline v0 {

/// One layer's cache of keys and values, as the operations see it. It does not own them.
/// Keys stand in groups of 16 positions, so that a register holds one dimension (bf16: a pair of dimensions) of several
/// positions and scores need no horizontal sums. Values stand row by row.
///   k  bf16 [Nkv][capacity/16][Dh/2][16 positions][2 dimensions],  f32 [Nkv][capacity/16][Dh][16 positions]
///   v  [Nkv][capacity][Dh], and `slack` elements after the last that may be read
/// Dh is even, capacity a multiple of 16; 64-byte aligned memory is fastest.
template <DType T, Device D>
struct KVView {
    static constexpr int group = 16;  ///< positions in a group of keys
    static constexpr int slack = 32;  ///< kernels read V in whole registers, past the end of its last row

    T* k = nullptr;
    T* v = nullptr;
    int num_key_value_heads = 0;
    int head_dim = 0;
    Index capacity = 0;

    /// The capacity that holds this many positions.
    [[nodiscard]] static constexpr Index round_capacity(Index positions) { return align_up<Index>(positions, group); }
    /// Elements of k and of v to allocate for one layer. Both are multiples of 32, so that layers can lie one after
    /// the other and keep their alignment.
    [[nodiscard]] static constexpr Index k_elements(int num_key_value_heads, int head_dim, Index capacity) {
        return num_key_value_heads * capacity * head_dim;
    }
    [[nodiscard]] static constexpr Index v_elements(int num_key_value_heads, int head_dim, Index capacity) {
        return num_key_value_heads * capacity * head_dim + slack;
    }

    /// The keys of `group` positions, of which `position` is one.
    [[nodiscard]] L3_HOST_DEVICE L3_INLINE constexpr T* k_group(int head, Index position) const {
        return k + (head * capacity + position / group * group) * head_dim;
    }
    [[nodiscard]] L3_HOST_DEVICE L3_INLINE constexpr T& k_at(int head, Index position, int dim) const {
        const Index lane = position % group;
        if constexpr (std::is_same_v<T, bf16>) return k_group(head, position)[(dim / 2 * group + lane) * 2 + dim % 2];
        else return k_group(head, position)[dim * group + lane];
    }
    [[nodiscard]] L3_HOST_DEVICE L3_INLINE constexpr T* v_row(int head, Index position) const {
        return v + (head * capacity + position) * head_dim;
    }

    /// Rounds a key or a value [Dh] to T and puts it at its place.
    L3_HOST_DEVICE constexpr void store_k(int head, Index position, const f32* key) const {
        for (int d = 0; d < head_dim; ++d) k_at(head, position, d) = T(key[d]);
    }
    L3_HOST_DEVICE constexpr void store_v(int head, Index position, const f32* value) const {
        T* row = v_row(head, position);
        for (int d = 0; d < head_dim; ++d) row[d] = T(value[d]);
    }
};

}  // namespace l3::inline v0
