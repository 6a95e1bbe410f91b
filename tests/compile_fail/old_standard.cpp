// expected: l3 needs C++20: compile with -std=c++20 or later.
// flags: -std=c++17
#include <l3/core/config.hpp>
int main() {}
