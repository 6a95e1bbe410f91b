#include <doctest/doctest.h>
#include <l3/tokenizer/bpe/merge.hpp>
#include <string>

using namespace l3;
using namespace l3::tokenizer;

namespace {

/// What the definition says, step by step.
template <class Rule>
std::vector<Symbol> merge_naively(std::vector<Symbol> symbols, const Rule& rule) {
    for (;;) {
        Merge best;
        std::size_t at = 0;
        for (std::size_t i = 0; i + 1 < symbols.size(); ++i) {
            const Merge merge = rule(symbols[i], symbols[i + 1]);
            if (merge.rank < best.rank) best = merge, at = i;
        }
        if (best.rank == Merge::never) return symbols;
        symbols[at] = {best.id, symbols[at].begin, symbols[at + 1].end};
        symbols.erase(symbols.begin() + static_cast<std::ptrdiff_t>(at) + 1);
    }
}

std::vector<Symbol> symbols_of(const std::vector<Token>& ids) {
    std::vector<Symbol> out;
    for (std::size_t i = 0; i < ids.size(); ++i) out.push_back({ids[i], i, i + 1});
    return out;
}

bool same(const std::vector<Symbol>& a, const std::vector<Symbol>& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i)
        if (a[i].id != b[i].id || a[i].begin != b[i].begin || a[i].end != b[i].end) return false;
    return true;
}

struct Random {
    std::uint64_t state;
    std::uint64_t operator()(std::uint64_t n) {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return (state >> 33) % n;
    }
};

}  // namespace

TEST_CASE("merge: the pair of the lowest rank first, of equal ones the leftmost") {
    MergeTable table(3);
    table.insert(0, 1, {1, 10});  // ab
    table.insert(1, 2, {0, 11});  // bc, earlier
    table.insert(0, 0, {2, 12});  // aa
    const auto rule = [&](const Symbol& a, const Symbol& b) { return table.find(a.id, b.id); };
    const auto merged = [&](const std::vector<Token>& ids) {
        std::vector<Symbol> symbols = symbols_of(ids);
        merge_pairs(symbols, rule);
        std::vector<Token> out;
        for (const Symbol& s : symbols) out.push_back(s.id);
        return out;
    };
    CHECK(merged({0, 1, 2}) == std::vector<Token>{0, 11});
    CHECK(merged({0, 1, 0}) == std::vector<Token>{10, 0});
    CHECK(merged({0, 0, 0}) == std::vector<Token>{12, 0});
    CHECK(merged({}).empty());
    CHECK(merged({2}) == std::vector<Token>{2});
    CHECK(merged({-1, -1, 0, 1}) == std::vector<Token>{-1, -1, 10});  // -1 merges with nothing
}

TEST_CASE("merge: few and many symbols give what the naive algorithm gives") {
    Random random{3};
    for (int round = 0; round < 300; ++round) {
        // A grammar of random merges over a few letters. Ranks follow the order of the ids, or not.
        const auto letters = static_cast<Token>(1 + random(3));
        const auto made = static_cast<Token>(1 + random(40));
        MergeTable table(static_cast<std::size_t>(made));
        for (Token id = letters; id < letters + made; ++id) {
            const auto left = static_cast<Token>(random(static_cast<std::uint64_t>(id)));
            const auto right = static_cast<Token>(random(static_cast<std::uint64_t>(id)));
            if (table.find(left, right).rank != Merge::never) continue;
            table.insert(left, right, {round % 2 ? id : static_cast<std::int32_t>(random(10'000)) * 64 + id, id});
        }
        std::vector<Token> ids(random(round % 10 == 0 ? 400 : 40));
        for (Token& id : ids) id = static_cast<Token>(random(static_cast<std::uint64_t>(letters)));
        const auto rule = [&](const Symbol& a, const Symbol& b) { return table.find(a.id, b.id); };
        const std::vector<Symbol> expected = merge_naively(symbols_of(ids), rule);
        std::vector<Symbol> few = symbols_of(ids), many = few;
        if (ids.size() <= 32) {
            detail::merge_few(few, rule);
            CHECK(same(few, expected));
        }
        if (!ids.empty()) {
            detail::merge_many(many, rule);
            CHECK(same(many, expected));
        }
    }
}

TEST_CASE("acceptance B10: runs of 2000 merge as the naive algorithm merges them") {
    for (const std::vector<Token>& period : {std::vector<Token>{0}, {0, 1}, {0, 0, 1}, {0, 1, 2, 3}}) {
        MergeTable table(64);
        Token id = 4;
        std::vector<Token> made{0, 1, 2, 3};
        Random random{7};
        for (int i = 0; i < 40; ++i) {  // runs merge into runs of any length: ties everywhere
            const Token left = made[random(made.size())], right = made[random(made.size())];
            if (table.find(left, right).rank != Merge::never) continue;
            table.insert(left, right, {id, id});
            made.push_back(id++);
        }
        std::vector<Token> ids(2000);
        for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = period[i % period.size()];
        const auto rule = [&](const Symbol& a, const Symbol& b) { return table.find(a.id, b.id); };
        std::vector<Symbol> symbols = symbols_of(ids);
        merge_pairs(symbols, rule);
        CHECK(same(symbols, merge_naively(symbols_of(ids), rule)));
    }
}

TEST_CASE("MergeTable: as many pairs as it was made for") {
    MergeTable table(1000);
    for (Token i = 0; i < 1000; ++i) table.insert(i, 999 - i, {i, i + 5000});
    for (Token i = 0; i < 1000; ++i) CHECK(table.find(i, 999 - i).id == i + 5000);
    CHECK(table.find(1, 1).rank == Merge::never);
    CHECK(table.find(-1, -1).rank == Merge::never);
    table.insert(3, 996, {1, 2});
    CHECK(table.find(3, 996).id == 2);
}
