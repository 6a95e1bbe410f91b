#include <doctest/doctest.h>
#include <l3/io/json.hpp>
#include "support/error_text.hpp"
#include "support/paths.hpp"

using namespace l3;

namespace {

std::string parse_error(std::string_view text) {
    return support::error_text<FormatError>([&] { (void)io::parse_json(text, "config.json"); });
}

}  // namespace

TEST_CASE("JSON errors name file, line and column") {
    CHECK(support::mentions(parse_error("{\n  \"a\": 1,\n  \"b\": ]\n}"),
                            {"config.json: not valid JSON at line 3, column 8: "}));
    CHECK(support::mentions(parse_error(""), {"config.json: not valid JSON at line 1, column 1: ", "unexpected end"}));
    CHECK(support::mentions(parse_error("{\"a\":1} x"), {"config.json: not valid JSON at line 1, column 9: "}));
    CHECK(support::mentions(parse_error("{\"a\":tru}"), {"line 1, column 9"}));
    CHECK(support::mentions(parse_error("\"\xFF\""), {"not valid JSON at line 1", "UTF-8"}));
    CHECK(parse_error("{\"a\": 1,\n \"b\": -1e999 }") ==
          "config.json: not valid JSON at line 2, column 7: the number -1e999 is beyond what there may be");
    CHECK(parse_error("1" + std::string(400, '0') + ".5") ==
          "config.json: not valid JSON at line 1, column 1: the number 1" + std::string(39, '0') + " is beyond what there may be");
    CHECK(parse_error(std::string_view("{}\0{}", 5)) == "config.json: not valid JSON at line 1, column 3: a NUL byte");
}

TEST_CASE("JSON nested as deep as it likes is read or refused") {
    for (std::size_t depth : {std::size_t{1000}, std::size_t{1'000'000}}) {
        CHECK(io::parse_json(std::string(depth, '[') + std::string(depth, ']'), "deep.json").is_array());
        CHECK(support::mentions(parse_error(std::string(depth, '[')), {"config.json: not valid JSON at line 1"}));
    }
}

TEST_CASE("JSON files are read, and missing ones named") {
    const support::TemporaryFolder folder;
    support::write_file(folder / "a.json", "\xEF\xBB\xBF{\"b\": 1, \"a\": 2}\n");  // with a byte order mark
    CHECK(io::read_json(folder / "a.json").at("a") == 2);
    const auto ordered = io::read_json<nlohmann::ordered_json>(folder / "a.json");
    std::string keys;
    for (const auto& [key, value] : ordered.items()) keys += key;
    CHECK(keys == "ba");
    CHECK(support::mentions(support::error_text<IoError>([&] { (void)io::read_json(folder / "b.json"); }),
                            {"cannot open", "b.json"}));
    support::write_file(folder / "a.json", "version https://git-lfs.github.com/spec/v1\n");
    CHECK(support::mentions(support::error_text<FormatError>([&] { (void)io::read_json(folder / "a.json"); }),
                            {"a.json", "Git LFS"}));
}

TEST_CASE("JsonObject reads values of the right type, and names file, key and what it found") {
    const auto json = io::parse_json(
        R"({"i": 7, "n": -7, "r": 8.0, "h": 0.5, "big": 4294967296, "huge": 18446744073709551615, "far": 1e300,
            "s": "x", "b": true, "null": null, "ids": [1, 2], "mixed": [1, "a"],
            "rope": {"factor": 8, "deep": {"x": []}}})",
        "config.json");
    const io::JsonObject o(json, "config.json");
    CHECK(o.get<int>("i") == 7);
    CHECK(o.get<int>("n") == -7);
    CHECK(o.get<int>("r") == 8);
    CHECK(o.get<Index>("big") == 4294967296);
    CHECK(o.get<double>("i") == 7.0);
    CHECK(o.get<float>("h") == 0.5f);
    CHECK(o.get<std::string>("s") == "x");
    CHECK(o.get<bool>("b"));
    CHECK(o.get<std::vector<Token>>("ids") == std::vector<Token>{1, 2});
    CHECK(o.contains("i"));
    CHECK_FALSE(o.contains("null"));
    CHECK_FALSE(o.find<int>("null"));
    CHECK_FALSE(o.find<int>("absent"));
    CHECK(o.get_or("absent", 3) == 3);
    CHECK(o.find_object("rope")->get<double>("factor") == 8.0);
    CHECK_FALSE(o.find_object("absent"));

    const auto text = [](const auto& f) { return support::error_text<FormatError>(f); };
    CHECK(text([&] { (void)o.get<int>("absent"); }) == "config.json: no 'absent'");
    CHECK(text([&] { (void)o.get<int>("null"); }) == "config.json: no 'null'");
    CHECK(text([&] { (void)o.get<int>("s"); }) == "config.json: 's' is \"x\", expected a whole number of 32 bits");
    CHECK(text([&] { (void)o.get<int>("h"); }) == "config.json: 'h' is 0.5, expected a whole number of 32 bits");
    CHECK(text([&] { (void)o.get<int>("big"); }) ==
          "config.json: 'big' is 4294967296, expected a whole number of 32 bits");
    CHECK(text([&] { (void)o.get<Index>("huge"); }) ==
          "config.json: 'huge' is 18446744073709551615, expected a whole number of 64 bits");
    CHECK(text([&] { (void)o.get<Index>("far"); }) ==
          "config.json: 'far' is 1e+300, expected a whole number of 64 bits");
    CHECK(text([&] { (void)o.get<float>("far"); }) ==
          "config.json: 'far' is 1e+300, expected a number that fits its type");
    CHECK(text([&] { (void)o.get<bool>("i"); }) == "config.json: 'i' is 7, expected true or false");
    CHECK(text([&] { (void)o.get<std::string>("ids"); }) == "config.json: 'ids' is an array of 2, expected a string");
    CHECK(text([&] { (void)o.get<std::vector<int>>("mixed"); }) ==
          "config.json: 'mixed[1]' is \"a\", expected a whole number of 32 bits");
    CHECK(text([&] { (void)o.get<std::vector<int>>("i"); }) == "config.json: 'i' is 7, expected an array");
    CHECK(text([&] { (void)o.find_object("i"); }) == "config.json: 'i' is 7, expected an object");
    const auto rope = o.find_object("rope");
    CHECK(rope->path("factor") == "rope.factor");
    CHECK(text([&] { (void)rope->get<double>("low"); }) == "config.json: no 'rope.low'");
    CHECK(text([&] { (void)rope->find_object("deep")->get<int>("x"); }) ==
          "config.json: 'rope.deep.x' is an array of 0, expected a whole number of 32 bits");
    const auto array = io::parse_json("[]", "config.json");
    CHECK(text([&] { (void)io::JsonObject(array, "config.json"); }) == "config.json holds no JSON object, but array");
}
