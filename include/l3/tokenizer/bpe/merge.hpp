#pragma once
// Merging, the heart of byte pair encoding: of all neighbours that may be merged, the pair of the lowest rank is, the leftmost of equal ones,
// until none may. Source: Sennrich et al. 2016; Word::merge_all in huggingface/tokenizers.
#include "../../core/math.hpp"
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace l3::inline v0::tokenizer {

/// A part of a piece that is one token, or none (id -1: a character that the vocabulary does not have).
struct Symbol {
    Token id;
    std::size_t begin, end;  ///< bytes [begin, end) of the piece
};

/// What two neighbours become, and how early.
struct Merge {
    static constexpr std::int32_t never = std::numeric_limits<std::int32_t>::max();
    std::int32_t rank = never;
    Token id = -1;
};

/// Merges by pairs of ids: a hash table.
class MergeTable {
  public:
    explicit MergeTable(std::size_t entries = 0) {
        std::size_t slots = 16;
        while (slots < 2 * entries) slots *= 2;
        slots_.resize(slots);
    }
    /// Adds a merge, or replaces that of the same pair. As many as the constructor was told, at most.
    void insert(Token left, Token right, Merge merge) {
        Slot& slot = slots_[place(key(left, right))];
        slot = {key(left, right), merge};
    }
    /// The merge of a pair, or one of rank never.
    [[nodiscard]] Merge find(Token left, Token right) const { return slots_[place(key(left, right))].merge; }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};  // the key of -1 and -1, which no merge has
    struct Slot {
        std::uint64_t key = none;
        Merge merge;
    };
    static std::uint64_t key(Token left, Token right) {
        return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
    }
    [[nodiscard]] std::size_t place(std::uint64_t key) const {
        const std::uint64_t h = key * 0x9E3779B97F4A7C15;
        std::size_t at = (h ^ h >> 32) & (slots_.size() - 1);
        while (slots_[at].key != key && slots_[at].key != none) at = (at + 1) & (slots_.size() - 1);
        return at;
    }
    std::vector<Slot> slots_;
};

namespace detail {

/// For few symbols: looks at all pairs for each merge.
template <class Rule>
void merge_few(std::vector<Symbol>& symbols, const Rule& rule) {
    constexpr std::size_t most = 32;
    Merge pairs[most];
    std::size_t n = symbols.size();
    for (std::size_t i = 0; i + 1 < n; ++i) pairs[i] = rule(symbols[i], symbols[i + 1]);
    while (n > 1) {
        std::size_t best = 0;
        for (std::size_t i = 1; i + 1 < n; ++i)
            if (pairs[i].rank < pairs[best].rank) best = i;
        if (pairs[best].rank == Merge::never) break;
        symbols[best] = {pairs[best].id, symbols[best].begin, symbols[best + 1].end};
        --n;
        for (std::size_t i = best + 1; i < n; ++i) symbols[i] = symbols[i + 1];
        for (std::size_t i = best + 1; i + 1 < n; ++i) pairs[i] = pairs[i + 1];
        if (best > 0) pairs[best - 1] = rule(symbols[best - 1], symbols[best]);
        if (best + 1 < n) pairs[best] = rule(symbols[best], symbols[best + 1]);
    }
    symbols.resize(n);
}

/// For many symbols: a list of them and a heap of the pairs, n log n.
template <class Rule>
void merge_many(std::vector<Symbol>& symbols, const Rule& rule) {
    constexpr std::size_t none = std::numeric_limits<std::size_t>::max();
    struct Pair {
        std::int32_t rank;
        Token id;
        std::size_t left, end;  // the index of the left symbol, and where the right one ended
        bool operator<(const Pair& other) const { return rank != other.rank ? rank > other.rank : left > other.left; }
    };
    const std::size_t n = symbols.size();
    std::vector<std::size_t> before(n), after(n);  // a symbol that is gone has itself behind it
    for (std::size_t i = 0; i < n; ++i) before[i] = i > 0 ? i - 1 : none, after[i] = i + 1 < n ? i + 1 : none;
    std::vector<Pair> heap;
    const auto look = [&](std::size_t left, std::size_t right) {
        const Merge merge = rule(symbols[left], symbols[right]);
        if (merge.rank != Merge::never) heap.push_back({merge.rank, merge.id, left, symbols[right].end});
        return merge.rank != Merge::never;
    };
    for (std::size_t i = 0; i + 1 < n; ++i) look(i, i + 1);
    std::make_heap(heap.begin(), heap.end());
    while (!heap.empty()) {
        std::pop_heap(heap.begin(), heap.end());
        const Pair pair = heap.back();
        heap.pop_back();
        const std::size_t left = pair.left, right = after[left];
        // Borders between symbols only vanish, so the same left symbol and the same end mean the same pair.
        if (right == left || right == none || symbols[right].end != pair.end) continue;
        symbols[left] = {pair.id, symbols[left].begin, pair.end};
        after[left] = after[right];
        if (after[left] != none) before[after[left]] = left;
        after[right] = right;
        if (before[left] != none && look(before[left], left)) std::push_heap(heap.begin(), heap.end());
        if (after[left] != none && look(left, after[left])) std::push_heap(heap.begin(), heap.end());
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i != none; i = after[i]) symbols[kept++] = symbols[i];
    symbols.resize(kept);
}

}  // namespace detail

/// Merges the symbols of a piece. rule(left, right) is the Merge of two neighbours; it may look at ids or at bytes, but
/// a merged symbol is one that its text determines.
template <class Rule>
void merge_pairs(std::vector<Symbol>& symbols, const Rule& rule) {
    if (symbols.size() <= 32)
        detail::merge_few(symbols, rule);
    else
        detail::merge_many(symbols, rule);
}

}  // namespace l3::inline v0::tokenizer
