// expected: l3 reports errors by exceptions: do not compile it with -fno-exceptions.
// flags: -fno-exceptions
#include <l3/core/config.hpp>
int main() {}
