#include <doctest/doctest.h>
#include <l3/model/llama_config/known_keys.hpp>
#include <nlohmann/json.hpp>
#include <set>

using namespace l3::llama_config;

TEST_CASE("every known key of config.json stands in one list, once") {
    std::set<std::string_view> seen;
    for (std::string_view key : understood_keys) CHECK(seen.insert(key).second);
    for (std::string_view key : bookkeeping_keys) CHECK_MESSAGE(seen.insert(key).second, key);
    for (const NeutralKey& k : neutral_keys) CHECK_MESSAGE(seen.insert(k.key).second, k.key);
}

TEST_CASE("neutral values are JSON, and unknown keys have none") {
    for (const NeutralKey& k : neutral_keys) CHECK(nlohmann::json::accept(k.value));
    CHECK(neutral_value("partial_rotary_factor") == "1");
    CHECK(neutral_value("num_experts").empty());
    CHECK(is_understood("rope_theta"));
    CHECK_FALSE(is_understood("rope_thetas"));
    CHECK(is_bookkeeping("_name_or_path"));
    CHECK_FALSE(is_bookkeeping("attention_multiplier"));
}
