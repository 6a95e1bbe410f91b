#include "l3/session/sampler.hpp"
#include <cmath>
#include <doctest/doctest.h>
#include <numeric>
#include <set>
#include <vector>

using namespace l3;

namespace {

constexpr f32 inf = std::numeric_limits<f32>::infinity(), no_number = std::numeric_limits<f32>::quiet_NaN();

std::vector<f32> logs(const std::vector<double>& p) {
    std::vector<f32> logits;
    for (double x : p) logits.push_back(f32(std::log(x)));
    return logits;
}

/// How often each token is drawn.
std::vector<int> counts(const std::vector<f32>& logits, SamplingOptions options, int draws) {
    options.seed = 42;
    Sampler sampler(options);
    std::vector<int> n(logits.size());
    for (int i = 0; i < draws; ++i) ++n[std::size_t(sampler.sample(logits))];
    return n;
}

/// The tokens that are ever drawn at temperature 1.
std::set<Token> support_of(const std::vector<f32>& logits, SamplingOptions options) {
    options.temperature = 1;
    const std::vector<int> n = counts(logits, options, 2000);
    std::set<Token> seen;
    for (std::size_t i = 0; i < n.size(); ++i)
        if (n[i]) seen.insert(Token(i));
    return seen;
}

std::vector<f32> noise(std::size_t n, std::uint64_t seed, f32 scale) {
    std::vector<f32> logits(n);
    for (std::size_t i = 0; i < n; ++i) logits[i] = scale * f32(uniform(seed, i) - 0.5);
    return logits;
}

}  // namespace

TEST_CASE("acceptance D01: temperature 0 is greedy, the lowest id on ties") {
    const std::vector<f32> tie = {1, 3, 3, 2}, three = {1, 3, 2};
    for (std::uint64_t seed : {0u, 1u, 99u})
        for (double zero : {0.0, -0.0}) {
            CHECK(Sampler({.temperature = zero, .seed = seed}).sample(tie) == 1);
            CHECK(Sampler({.temperature = zero, .top_k = 3, .top_p = 0.5, .min_p = 0.1, .seed = seed}).sample(tie) ==
                  1);
        }
    CHECK(Sampler().sample(tie) == 1);
    for (double tiny : {1e-6, 1e-30, 1e-38, 1e-300, 5e-324})
        for (std::uint64_t seed : {0u, 1u, 2u, 3u})
            CHECK(Sampler({.temperature = tiny, .seed = seed}).sample(three) == 1);
    CHECK_THROWS_AS(Sampler({.temperature = -1}), ArgumentError);
    CHECK_THROWS_AS(Sampler({.temperature = std::nan("")}), ArgumentError);
    CHECK_THROWS_WITH_AS((void)Sampler().sample({}), "sampling from no logits", ArgumentError);
}

TEST_CASE("acceptance D02: top_k 0 means off") {
    const std::vector<f32> flat(100, 2.5f);
    const int draws = 10000;
    const std::vector<int> n = counts(flat, {.temperature = 1, .top_k = 0}, draws);
    double chi2 = 0;
    for (int x : n) {
        CHECK(x > 0);
        chi2 += (x - 100.0) * (x - 100.0) / 100.0;
    }
    CHECK(chi2 < 148.2);  // 99 degrees of freedom, p = 0.001
    CHECK(counts(flat, {.temperature = 1, .top_k = -1}, draws) == n);
    CHECK(counts(flat, {.temperature = 1, .top_k = 100}, draws) == n);
    CHECK(counts(flat, {.temperature = 1, .top_k = 1000}, draws) == n);
    CHECK(support_of({1, 3, 3, 2}, {.top_k = 1}) == std::set<Token>{1});
    CHECK(support_of({1, 3, 3, 2}, {.top_k = 2}) == std::set<Token>{1, 2});
    CHECK(support_of({1, 3, 3, 2}, {.top_k = 3}) == std::set<Token>{1, 2, 3});
}

TEST_CASE("acceptance D03: top_p keeps the smallest set that reaches it, at least one") {
    const std::vector<f32> p = logs({0.5, 0.3, 0.15, 0.05});
    using Set = std::set<Token>;
    CHECK(support_of(p, {.top_p = 0}) == Set{0});
    CHECK(support_of(p, {.top_p = 0.49}) == Set{0});
    CHECK(support_of(p, {.top_p = 0.51}) == Set{0, 1});
    CHECK(support_of(p, {.top_p = 0.79}) == Set{0, 1});
    CHECK(support_of(p, {.top_p = 0.81}) == Set{0, 1, 2});
    CHECK(support_of(p, {.top_p = 0.94}) == Set{0, 1, 2});
    CHECK(support_of(p, {.top_p = 0.96}) == Set{0, 1, 2, 3});
    CHECK(support_of(p, {.top_p = 1}) == Set{0, 1, 2, 3});
    CHECK(support_of(p, {.top_k = 1, .top_p = 0.8}) == Set{0});
    CHECK(support_of(p, {.top_k = 2, .top_p = 0.62}) == Set{0});  // of the two, the first has 0.625
    CHECK(support_of(p, {.top_k = 2, .top_p = 0.63}) == Set{0, 1});
}

TEST_CASE("acceptance D04: min_p is a share of the largest probability") {
    const std::vector<f32> p = logs({0.6, 0.3, 0.06, 0.04});
    using Set = std::set<Token>;
    CHECK(support_of(p, {.min_p = 0.09}) == Set{0, 1, 2});
    CHECK(support_of(p, {.min_p = 0.11}) == Set{0, 1});
    CHECK(support_of(p, {.min_p = 0.49}) == Set{0, 1});
    CHECK(support_of(p, {.min_p = 0.51}) == Set{0});
    CHECK(support_of(p, {.min_p = 1}) == Set{0});
    CHECK(support_of(p, {.min_p = 0}) == Set{0, 1, 2, 3});
    CHECK(support_of(p, {.top_p = 0.95, .min_p = 0.11}) == Set{0, 1});
}

TEST_CASE("acceptance D06: no id is chosen from what is no number") {
    for (double temperature : {0.0, 1.0}) {
        Sampler sampler({.temperature = temperature, .seed = 1});
        const std::vector<f32> one = {1, no_number, 2}, first = {no_number, 1}, infinite = {1, inf, no_number},
                               none = {-inf, -inf};
        const std::vector<Token> seven(7, 0);
        CHECK_THROWS_WITH_AS((void)sampler.sample(one, seven), "logits at position 7: 1 of 3 are NaN or +inf",
                             NumericError);
        CHECK_THROWS_WITH_AS((void)sampler.sample(first), "logits at position 0: 1 of 2 are NaN or +inf", NumericError);
        CHECK_THROWS_WITH_AS((void)sampler.sample(infinite), "logits at position 0: 2 of 3 are NaN or +inf",
                             NumericError);
        CHECK_THROWS_WITH_AS((void)sampler.sample(none), "logits at position 0: all 2 are -inf, no token can be chosen",
                             NumericError);
        CHECK(Sampler().sample(std::vector<f32>{1, -inf, 2}) == 2);
        // and it goes on as if nothing had been
        const std::vector<f32> flat(50, 0);
        Sampler fresh({.temperature = temperature, .seed = 1});
        for (int i = 0; i < 10; ++i) CHECK(sampler.sample(flat) == fresh.sample(flat));
    }
    CHECK(support_of({1, -inf, 1}, {}) == std::set<Token>{0, 2});
}

TEST_CASE("acceptance D07: a seed gives the same ids, and the seed in use is known") {
    const std::vector<f32> flat(1000, 0);
    const auto run = [&](std::optional<std::uint64_t> seed, std::uint64_t* used = nullptr) {
        Sampler sampler({.temperature = 1, .seed = seed});
        if (used) *used = sampler.seed();
        std::vector<Token> ids;
        for (int i = 0; i < 50; ++i) ids.push_back(sampler.sample(flat));
        return ids;
    };
    CHECK(run(42) == run(42));
    CHECK(run(42) != run(43));
    for (std::uint64_t seed : {std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63}) {
        const std::vector<Token> ids = run(seed);
        CHECK(std::set<Token>(ids.begin(), ids.end()).size() > 40);  // 49 expected
    }
    std::uint64_t first = 0, second = 0;
    const std::vector<Token> a = run(std::nullopt, &first), b = run(std::nullopt, &second);
    CHECK(a != b);
    CHECK(run(first) == a);
    CHECK(run(second) == b);
    // From an independent rendering in Python: floor(1000 u) of the first numbers of seed 1234.
    CHECK(std::vector<Token>(run(1234))[0] == 853);
    CHECK(std::vector<Token>(run(1234))[1] == 112);
}

TEST_CASE("draws follow the distribution, at any temperature") {
    const std::vector<f32> logits = {1, 0, 2, -1, 0.5f};
    const int draws = 100000;
    for (double temperature : {0.5, 1.0, 3.0}) {
        std::vector<double> p;
        for (f32 l : logits) p.push_back(std::exp(double(l) / temperature));
        const double total = std::accumulate(p.begin(), p.end(), 0.0);
        const std::vector<int> n = counts(logits, {.temperature = temperature}, draws);
        double chi2 = 0;
        for (std::size_t i = 0; i < p.size(); ++i) {
            const double expected = draws * p[i] / total;
            chi2 += (n[i] - expected) * (n[i] - expected) / expected;
        }
        CHECK(chi2 < 18.47);  // 4 degrees of freedom, p = 0.001
    }
}

TEST_CASE("a large vocabulary gives what a full sort gives") {
    const std::vector<f32> logits = noise(5000, 3, 12);
    std::vector<Token> order(logits.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](Token a, Token b) { return logits[std::size_t(a)] > logits[std::size_t(b)]; });
    const auto p = [&](std::size_t i) {
        return std::exp(double(logits[std::size_t(order[i])]) - double(logits[std::size_t(order[0])]));
    };
    struct Case {
        int top_k;
        double top_p, min_p;
    };
    for (const Case c : {Case{0, 1, 0}, Case{40, 1, 0}, Case{3000, 1, 0}, Case{0, 0.9, 0}, Case{0, 1, 0.01},
                         Case{600, 0.7, 0.001}, Case{0, 0.99, 0.0005}}) {
        CAPTURE(c.top_k);
        CAPTURE(c.top_p);
        CAPTURE(c.min_p);
        const std::size_t k = c.top_k ? std::size_t(c.top_k) : order.size();
        double all = 0, mass = 0;
        for (std::size_t i = 0; i < k; ++i) all += p(i);
        std::size_t kept = 0;
        for (; kept < k && (kept == 0 || c.top_p >= 1 || mass < c.top_p * all) && p(kept) >= c.min_p; ++kept)
            mass += p(kept);
        Sampler sampler({.temperature = 1, .top_k = c.top_k, .top_p = c.top_p, .min_p = c.min_p, .seed = 5});
        for (std::uint64_t draw = 0; draw < 200; ++draw) {
            double sum = 0;
            std::size_t i = 0;
            while (i + 1 < kept && (sum += p(i)) <= uniform(5, draw) * mass) ++i;
            CHECK(sampler.sample(logits) == order[i]);
        }
    }
}

TEST_CASE("equal logits are in the order of their ids") {
    const std::vector<f32> flat(1 << 17, 1.5f);
    Sampler sampler({.temperature = 0.7, .seed = 9}), few({.temperature = 0.7, .top_k = 64, .seed = 9});
    for (std::uint64_t i = 0; i < 3; ++i) {
        CHECK(sampler.sample(flat) == Token(uniform(9, i) * (1 << 17)));
        CHECK(few.sample(flat) == Token(uniform(9, i) * 64));
    }
}

TEST_CASE("on_logits sees and changes the logits, outside of the library's floating-point mode") {
    const std::vector<f32> logits = {1, 5, 3};
    const std::vector<Token> ids = {2, 0};
    const std::uint64_t mode = cpu::FloatMode::read();
    int calls = 0;
    const auto forbid = [&](std::span<f32> seen, std::span<const Token> before) {
        ++calls;
        CHECK(cpu::FloatMode::read() == mode);
        CHECK(std::vector<f32>(seen.begin(), seen.end()) == logits);
        CHECK(std::vector<Token>(before.begin(), before.end()) == ids);
        seen[1] = -inf;
    };
    CHECK(Sampler({.on_logits = forbid}).sample(logits, ids) == 2);
    CHECK(Sampler({.temperature = 1e-6, .on_logits = forbid}).sample(logits, ids) == 2);
    CHECK(Sampler({.repetition_penalty = 4, .on_logits = forbid}).sample(logits, ids) == 2);
    CHECK(calls == 3);
    CHECK(cpu::FloatMode::read() == mode);

    SUBCASE("what it throws reaches the caller and changes nothing") {
        bool fails = true;
        const std::vector<f32> flat(50, 0);
        Sampler sampler({.temperature = 1, .seed = 3, .on_logits = [&](auto, auto) {
                             if (fails) throw 17;
                         }});
        CHECK_THROWS_AS((void)sampler.sample(flat), int);
        fails = false;
        Sampler fresh({.temperature = 1, .seed = 3});
        for (int i = 0; i < 5; ++i) CHECK(sampler.sample(flat) == fresh.sample(flat));
    }
    SUBCASE("also the mode survives an error") {
        CHECK_THROWS_AS((void)Sampler().sample(std::vector<f32>{no_number}), NumericError);
        CHECK(cpu::FloatMode::read() == mode);
    }
}
