#include "l3/session/sampling_options.hpp"
#include <cmath>
#include <doctest/doctest.h>

using namespace l3;

namespace {
struct Config {
    std::optional<float> temperature{}, top_p{}, min_p{}, repetition_penalty{};
    std::optional<int> top_k{};
    bool do_sample = false;
};
}  // namespace

TEST_CASE("options that cannot be meant are named with their value") {
    CHECK_THROWS_WITH_AS(check_sampling({.temperature = -1}), "temperature is -1, expected 0 (greedy) or more",
                         ArgumentError);
    CHECK_THROWS_WITH_AS(check_sampling({.temperature = std::nan("")}),
                         "temperature is nan, expected 0 (greedy) or more", ArgumentError);
    CHECK_THROWS_WITH_AS(check_sampling({.top_p = -0.1}), "top_p is -0.1, expected 0 or more (1: off)", ArgumentError);
    CHECK_THROWS_WITH_AS(check_sampling({.min_p = 1.5}), "min_p is 1.5, expected 0 to 1", ArgumentError);
    CHECK_THROWS_WITH_AS(check_sampling({.repetition_penalty = 0}), "repetition_penalty is 0, expected more than 0",
                         ArgumentError);
    CHECK_THROWS_WITH_AS(check_sampling({.repetition_penalty = std::nan("")}),
                         "repetition_penalty is nan, expected more than 0", ArgumentError);
    CHECK_THROWS_WITH_AS(check_sampling({.frequency_penalty = HUGE_VAL}), "frequency_penalty is inf, expected a number",
                         ArgumentError);
    CHECK_THROWS_AS(check_sampling({.presence_penalty = std::nan("")}), ArgumentError);
    CHECK_NOTHROW(check_sampling({}));
    CHECK_NOTHROW(check_sampling({.temperature = 0,
                                  .top_k = -1,
                                  .top_p = 1.5,
                                  .min_p = 0,
                                  .repetition_penalty = 0.5,
                                  .frequency_penalty = -2,
                                  .presence_penalty = -2}));
}

TEST_CASE("what is not set is what generation_config says; a config that does not sample is greedy") {
    const Config greedy{.temperature = 0.6f}, samples{.temperature = 0.5f,
                                                      .top_p = 0.9f,
                                                      .min_p = 0.1f,
                                                      .repetition_penalty = 1.5f,
                                                      .top_k = 20,
                                                      .do_sample = true};
    CHECK(with_defaults({}, greedy).temperature == 0.0);
    const SamplingOptions all = with_defaults({}, samples);
    CHECK(all.temperature == 0.5);
    CHECK(all.top_p == double(0.9f));
    CHECK(all.min_p == double(0.1f));
    CHECK(all.repetition_penalty == 1.5);
    CHECK(all.top_k == 20);
    const SamplingOptions own = with_defaults({.temperature = 0, .top_k = 0, .top_p = 1}, samples);
    CHECK(own.temperature == 0.0);
    CHECK(own.top_k == 0);
    CHECK(own.top_p == 1.0);
    CHECK(own.repetition_penalty == 1.5);
    CHECK(with_defaults({}, Config{.do_sample = true}).temperature == 1.0);
}
