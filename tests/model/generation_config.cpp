#include <doctest/doctest.h>
#include <l3/model/generation_config.hpp>
#include "support/paths.hpp"

using namespace l3;
using doctest::Contains;

TEST_CASE("generation_config.json: what it says, and nothing where it is silent") {
    const support::TemporaryFolder folder;
    const GenerationConfig none = read_generation_config(folder.path());
    CHECK_FALSE(none.do_sample);
    CHECK_FALSE(none.temperature.has_value());
    CHECK(none.eos_token_id.empty());

    support::write_file(
        folder / "generation_config.json",
        R"({"bos_token_id": 1, "do_sample": true, "temperature": 0.6, "top_p": 0.9, "top_k": 40, "min_p": 0.05,
                            "repetition_penalty": 1.1, "eos_token_id": [2, 3], "transformers_version": "4.45.0"})");
    const GenerationConfig g = read_generation_config(folder.path());
    CHECK(g.do_sample);
    CHECK(g.temperature == 0.6f);
    CHECK(g.top_p == 0.9f);
    CHECK(g.top_k == 40);
    CHECK(g.min_p == 0.05f);
    CHECK(g.repetition_penalty == 1.1f);
    CHECK(g.eos_token_id == std::vector<Token>{2, 3});

    support::write_file(folder / "generation_config.json", R"({"eos_token_id": 2, "temperature": null})");
    CHECK(read_generation_config(folder.path()).eos_token_id == std::vector<Token>{2});
    CHECK_FALSE(read_generation_config(folder.path()).temperature.has_value());
}

TEST_CASE("generation_config.json: errors name file and key") {
    const support::TemporaryFolder folder;
    support::write_file(folder / "generation_config.json", R"({"temperature": "hot"})");
    CHECK_THROWS_WITH_AS((void)read_generation_config(folder.path()),
                         Contains("generation_config.json: 'temperature' is \"hot\""), FormatError);
    support::write_file(folder / "generation_config.json", "{");
    CHECK_THROWS_WITH_AS((void)read_generation_config(folder.path()),
                         Contains("generation_config.json: not valid JSON"), FormatError);
}
