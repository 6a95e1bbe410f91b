#pragma once
#include "config.hpp"

#define L3_VERSION_MAJOR 0
#define L3_VERSION_MINOR 1
#define L3_VERSION_PATCH 0

namespace l3::inline v0 {

/// The version of these headers, as SemVer.
inline constexpr const char* version = "0.1.0";

}  // namespace l3::inline v0
