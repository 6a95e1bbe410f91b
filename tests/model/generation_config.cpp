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
    for (const auto& [json, text] : {std::pair(R"({"do_sample": true, "temperature": -1})", "'temperature' is -1, expected 0 (greedy) or more"),
                                     {R"({"top_p": -0.5})", "'top_p' is -0.5, expected 0 or more (1: off)"},
                                     {R"({"min_p": 2})", "'min_p' is 2, expected 0 to 1"},
                                     {R"({"repetition_penalty": 0})", "'repetition_penalty' is 0, expected more than 0"}}) {
        support::write_file(folder / "generation_config.json", json);
        CHECK_THROWS_WITH_AS((void)read_generation_config(folder.path()),
                             Contains((std::string("generation_config.json: ") + text).c_str()), FormatError);
    }
    support::write_file(folder / "generation_config.json", R"({"temperature": -1, "top_k": -1, "top_p": 2})");
    CHECK_NOTHROW((void)read_generation_config(folder.path()));  // not used, off, off
    support::write_file(folder / "generation_config.json", "{");
    CHECK_THROWS_WITH_AS((void)read_generation_config(folder.path()),
                         Contains("generation_config.json: not valid JSON"), FormatError);
}
