#include "l3/session/penalties.hpp"
#include <bit>
#include <doctest/doctest.h>
#include <limits>
#include <vector>

using namespace l3;

namespace {
std::vector<f32> penalised(const SamplingOptions& options, std::vector<f32> logits, const std::vector<Token>& ids,
                           Index generated) {
    apply_penalties(options, logits, ids, generated);
    return logits;
}
}  // namespace

TEST_CASE("acceptance D09: repetition, frequency and presence penalties") {
    const std::vector<f32> logits = {2, -2, 0.5f};
    const std::vector<Token> ids = {0, 0, 1};
    CHECK(penalised({.repetition_penalty = 2}, logits, ids, 0) == std::vector<f32>{1, -4, 0.5f});
    CHECK(penalised({.frequency_penalty = 0.5, .presence_penalty = 0.25}, logits, ids, 3) ==
          std::vector<f32>{0.75f, -2.75f, 0.5f});

    SUBCASE("the prompt counts for repetition only") {
        CHECK(penalised({.frequency_penalty = 0.5, .presence_penalty = 0.25}, logits, ids, 1) ==
              std::vector<f32>{2, -2.75f, 0.5f});
        CHECK(penalised({.frequency_penalty = 0.5, .presence_penalty = 0.25}, logits, ids, 0) == logits);
    }
    SUBCASE("repetition comes first") {
        CHECK(penalised({.repetition_penalty = 2, .frequency_penalty = 1}, logits, ids, 3) ==
              std::vector<f32>{-1, -5, 0.5f});
    }
    SUBCASE("neutral values change no bit, not even of what is no number") {
        std::vector<f32> odd = {-0.f, 1e-40f, std::numeric_limits<f32>::quiet_NaN()};
        const std::vector<f32> before = odd;
        apply_penalties({.repetition_penalty = 1, .frequency_penalty = 0, .presence_penalty = -0.0}, odd, ids, 3);
        for (std::size_t i = 0; i < odd.size(); ++i)
            CHECK(std::bit_cast<std::uint32_t>(odd[i]) == std::bit_cast<std::uint32_t>(before[i]));
    }
    SUBCASE("a forbidden token stays forbidden") {
        constexpr f32 inf = std::numeric_limits<f32>::infinity();
        CHECK(penalised({.repetition_penalty = 1.5, .frequency_penalty = 1}, {-inf, 1}, {0}, 1) ==
              std::vector<f32>{-inf, 1});
    }
}

TEST_CASE("penalties name an id outside of the vocabulary") {
    CHECK_THROWS_WITH_AS(penalised({.repetition_penalty = 2}, {1, 2}, {0, 2}, 0), "token id 2 in a vocabulary of 2",
                         ArgumentError);
    CHECK_THROWS_WITH_AS(penalised({.repetition_penalty = 2}, {1, 2}, {-1}, 0), "token id -1 in a vocabulary of 2",
                         ArgumentError);
    CHECK_THROWS_WITH_AS(penalised({.presence_penalty = 1}, {1, 2}, {0}, 2), "2 generated ids of 1", ArgumentError);
}
