#include <doctest/doctest.h>
#include <l3/core/version.hpp>
#include <string>

TEST_CASE("version: the text is made of the three numbers") {
    CHECK(std::string(l3::version) == std::to_string(L3_VERSION_MAJOR) + "." + std::to_string(L3_VERSION_MINOR) + "." +
                                          std::to_string(L3_VERSION_PATCH));
}
