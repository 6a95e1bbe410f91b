#include <clocale>
#include <doctest/doctest.h>
#include <l3/core/error.hpp>
#include <locale>

using namespace l3;

namespace {
struct Grouped : std::numpunct<char> {
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
};
template <class E>
constexpr bool is_error = std::is_base_of_v<Error, E> && std::is_base_of_v<std::runtime_error, E>;
}  // namespace

TEST_CASE("acceptance I01: every exception has one base class") {
    static_assert(is_error<IoError> && is_error<FormatError> && is_error<UnsupportedError> && is_error<ShapeError> &&
                  is_error<ArgumentError> && is_error<ContextFullError> && is_error<NumericError> &&
                  is_error<CancelledError> && is_error<DeviceError> && is_error<OutOfMemoryError>);
    static_assert(std::is_base_of_v<ArgumentError, ContextFullError>);
    CHECK_THROWS_WITH_AS(fail<FormatError>("file ", 3, " of ", 4u), "file 3 of 4", FormatError);
}

TEST_CASE("error: require throws only if the condition does not hold, and puts its text together only then") {
    CHECK_NOTHROW(require(true, "not seen"));
    CHECK_THROWS_WITH_AS(require(false, "x is ", 1.5), "x is 1.5", ShapeError);
    CHECK_THROWS_AS(require<IoError>(false, "y"), IoError);
}

TEST_CASE("error: a host's locale does not change the numbers in a message") {
    const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Grouped));
    const std::string text = message("vocab_size is ", 128256, ", eps ", 0.5);
    std::locale::global(before);
    CHECK(text == "vocab_size is 128256, eps 0.5");
}

TEST_CASE("error: memory that could not be had is counted") {
    const OutOfMemoryError error("no memory", 123);
    CHECK(error.requested_bytes == 123);
}
