#pragma once
#include "../core/config.hpp"
#include <string>

namespace l3::inline v0 {

/// A piece of a rendered prompt. Template text (message -1) may hold special tokens; text that comes from message n is
/// only text, whatever it says.
struct Segment {
    std::string text;
    int message = -1;
};

}  // namespace l3::inline v0
