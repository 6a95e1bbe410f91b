// expected: l3 promises the same bits everywhere: do not compile it with -ffast-math or parts of it.
// flags: -ffinite-math-only
#include <l3/core/config.hpp>
int main() {}
