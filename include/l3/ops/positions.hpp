#pragma once
#include "../core/math.hpp"

namespace l3::inline v0 {

/// The positions [first, first + count) in a sequence, counted from 0: where the M tokens of a call stand.
struct Positions {
    Index first = 0, count = 0;

    [[nodiscard]] constexpr Index end() const { return first + count; }
    friend constexpr bool operator==(const Positions&, const Positions&) = default;
};

}  // namespace l3::inline v0
