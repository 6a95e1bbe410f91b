#include <doctest/doctest.h>
#include <l3/io/gguf/metadata.hpp>
#include "support/error_text.hpp"
#include "support/write_gguf.hpp"
#include <deque>
#include <limits>

using namespace l3;

namespace {

/// Metadata as they are read from a file; the bytes live as long as this.
struct Written {
    std::deque<std::string> bytes;
    io::GgufMetadata metadata{"x.gguf"};

    void add(std::string_view key, const support::GgufValue& value) {
        support::GgufBytes out;
        support::put_gguf_value(out, value);
        bytes.push_back(out.bytes);
        io::Cursor cursor(std::as_bytes(std::span(bytes.back())), "x.gguf");
        metadata.add(key, io::read_gguf_value(cursor, "x.gguf", key));
        CHECK(cursor.remaining() == 0);
    }
};

std::string text(const auto& f) { return support::error_text<FormatError>(f); }

}  // namespace

TEST_CASE("GGUF metadata: every type is read as what it is") {
    Written w;
    w.add("u8", std::uint8_t{255});
    w.add("i8", std::int8_t{-128});
    w.add("u16", std::uint16_t{65535});
    w.add("i16", std::int16_t{-32768});
    w.add("u32", std::uint32_t{4294967295});
    w.add("i32", std::int32_t{-7});
    w.add("u64", std::uint64_t{1} << 40);
    w.add("i64", -(std::int64_t{1} << 40));
    w.add("f32", 0.5f);
    w.add("f64", 1e300);
    w.add("bool", true);
    w.add("string", std::string("text"));
    w.add("strings", std::vector<std::string>{"a", "", "bc"});
    w.add("floats", std::vector<float>{1, -2.5f});
    w.add("ints", std::vector<std::int32_t>{3, -4});
    w.add("bools", std::vector<bool>{true, false});
    w.add("none", std::vector<std::string>{});
    const io::GgufMetadata& m = w.metadata;
    CHECK(m.size() == 17);
    CHECK(m.get<int>("u8") == 255);
    CHECK(m.get<int>("i8") == -128);
    CHECK(m.get<int>("u16") == 65535);
    CHECK(m.get<int>("i16") == -32768);
    CHECK(m.get<Index>("u32") == 4294967295);
    CHECK(m.get<std::uint32_t>("u32") == 4294967295u);
    CHECK(m.get<int>("i32") == -7);
    CHECK(m.get<Index>("u64") == Index{1} << 40);
    CHECK(m.get<Index>("i64") == -(Index{1} << 40));
    CHECK(m.get<float>("f32") == 0.5f);
    CHECK(m.get<double>("f32") == 0.5);
    CHECK(m.get<double>("f64") == 1e300);
    CHECK(m.get<double>("i32") == -7.0);
    CHECK(m.get<bool>("bool"));
    CHECK(m.get<std::string>("string") == "text");
    CHECK(m.get<std::string_view>("string") == "text");
    CHECK(m.get<std::vector<std::string_view>>("strings") == std::vector<std::string_view>{"a", "", "bc"});
    CHECK(m.get<std::vector<std::string>>("none").empty());
    CHECK(m.get<std::vector<float>>("floats") == std::vector<float>{1, -2.5f});
    CHECK(m.get<std::vector<double>>("ints") == std::vector<double>{3, -4});
    CHECK(m.get<std::vector<Index>>("ints") == std::vector<Index>{3, -4});
    CHECK(m.get<std::vector<bool>>("bools") == std::vector<bool>{true, false});
    CHECK_FALSE(m.find<int>("absent"));
    CHECK(m.get_or("absent", 5) == 5);
    CHECK(m.contains("none"));
    CHECK(m.value("strings")->type_name() == "array of 3 string");

    CHECK(text([&] { (void)m.get<int>("absent"); }) == "x.gguf: no metadata 'absent'");
    CHECK(text([&] { (void)m.get<int>("string"); }) ==
          "x.gguf: metadata 'string' is string 'text', expected an integer of 32 bits");
    CHECK(text([&] { (void)m.get<int>("u32"); }) ==
          "x.gguf: metadata 'u32' is u32 4294967295, expected an integer of 32 bits");
    CHECK(text([&] { (void)m.get<int>("f32"); }) ==
          "x.gguf: metadata 'f32' is f32 0.5, expected an integer of 32 bits");
    CHECK(text([&] { (void)m.get<int>("bool"); }) == "x.gguf: metadata 'bool' is bool, expected an integer of 32 bits");
    CHECK(text([&] { (void)m.get<std::uint32_t>("i32"); }) ==
          "x.gguf: metadata 'i32' is i32 -7, expected an integer of 32 bits");
    CHECK(text([&] { (void)m.get<float>("f64"); }) ==
          "x.gguf: metadata 'f64' is f64 1e+300, expected a number that fits its type");
    CHECK(text([&] { (void)m.get<bool>("i32"); }) == "x.gguf: metadata 'i32' is i32 -7, expected bool");
    CHECK(text([&] { (void)m.get<std::string>("i32"); }) == "x.gguf: metadata 'i32' is i32 -7, expected string");
    CHECK(text([&] { (void)m.get<int>("ints"); }) == "x.gguf: metadata 'ints' is array of 2 i32, expected one number");
    CHECK(text([&] { (void)m.get<std::vector<int>>("i32"); }) == "x.gguf: metadata 'i32' is i32 -7, expected an array");
    CHECK(text([&] { (void)m.get<std::vector<int>>("strings"); }) ==
          "x.gguf: metadata 'strings' is array of 3 string, expected an integer of 32 bits");
    CHECK(text([&] { (void)m.get<std::vector<std::string>>("ints"); }) ==
          "x.gguf: metadata 'ints' is array of 2 i32, expected an array of strings");
    CHECK(text([&] { w.add("u8", 1.0f); }) == "x.gguf: metadata 'u8' is there twice");
}

TEST_CASE("GGUF metadata: types, lengths and counts that cannot be are refused") {
    const auto read = [](const std::string& bytes) {
        io::Cursor cursor(std::as_bytes(std::span(bytes)), "x.gguf");
        return support::error_text<Error>([&] { (void)io::read_gguf_value(cursor, "x.gguf", "metadata 'k'"); });
    };
    const auto array = [](std::uint32_t type, std::uint64_t count) {
        return support::GgufBytes().number(std::uint32_t{9}).number(type).number(count).bytes;
    };
    CHECK(read(support::GgufBytes().number(std::uint32_t{13}).bytes) == "x.gguf: metadata 'k' has the unknown type 13");
    CHECK(read(array(77, 1)) == "x.gguf: metadata 'k' has the unknown type 77");
    CHECK(read(array(9, 1)) == "x.gguf: metadata 'k' is an array of arrays");
    for (std::uint32_t type : {0u, 4u, 7u, 8u, 12u})
        for (std::uint64_t count : {std::uint64_t{1}, std::uint64_t{1} << 40, std::uint64_t{1} << 61,
                                    std::numeric_limits<std::uint64_t>::max()}) {
            CHECK(support::mentions(read(array(type, count)), {"x.gguf: metadata 'k' is ", std::to_string(count),
                                                               ", more than fit the 0 bytes that follow"}));
            CHECK(support::mentions(read(array(type, count + 7) + std::string(7, '\0')),
                                    {type == 0 || type == 7 ? "" : ", more than fit the 7 bytes"}));
        }
    CHECK(support::mentions(read(array(8, 1) + std::string(8, '\x7F')),
                            {"x.gguf: metadata 'k' needs 9187201950435737471 bytes at byte 24, of which there are 0"}));
    CHECK(support::mentions(read(""), {"x.gguf: metadata 'k' needs 4 bytes at byte 0, of which there are 0"}));
}
