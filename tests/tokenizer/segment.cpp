#include <doctest/doctest.h>
#include <l3/tokenizer/segment.hpp>

TEST_CASE("Segment: is template text unless it says whose text it is") {
    CHECK(l3::Segment{"x"}.message == -1);
    CHECK(l3::Segment{"x", 3}.message == 3);
}
