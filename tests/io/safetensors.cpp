#include <doctest/doctest.h>
#include <l3/io/convert.hpp>
#include <l3/io/safetensors.hpp>
#include "support/error_text.hpp"
#include "support/mutate.hpp"
#include "support/write_safetensors.hpp"
#include <unistd.h>

using namespace l3;
using support::mentions;

namespace {

std::vector<float> counting(std::size_t n, float from) {
    std::vector<float> values(n);
    for (float& x : values) x = from++;
    return values;
}

std::vector<support::FileTensor> some_tensors() {
    return {support::f32_tensor("norm", {4}, counting(4, 0.5f)),
            support::bf16_tensor("embed", {3, 4}, counting(12, -3)),
            support::f16_tensor("head", {4, 3}, counting(12, 7)),
            support::i32_tensor("ids", {2}, std::vector<std::int32_t>{5, -6}),
            support::f32_tensor("scalar", {}, counting(1, 9))};
}

std::vector<float> values(const io::StoredTensor& tensor) {
    std::vector<float> out(static_cast<std::size_t>(tensor.shape.numel()));
    io::convert_rows(tensor, 0, tensor.shape.rows(), out.data());
    return out;
}

/// Writes these bytes and opens them: the error's text, without the folder.
template <class E = FormatError>
std::string refused(const support::TemporaryFolder& folder, const std::string& bytes) {
    support::write_file(folder / "f.safetensors", bytes);
    std::string text = support::error_text<E>([&] { (void)io::open_safetensors(folder / "f.safetensors"); });
    const std::string prefix = folder.path().string() + "/";
    if (text.starts_with(prefix)) text.erase(0, prefix.size());
    return text;
}

/// A header with two F32 tensors of two elements, a and b, whose fields can be replaced.
std::string two(const std::string& a_offsets, const std::string& b_offsets, const std::string& b_shape = "[2]") {
    return R"({"a":{"dtype":"F32","shape":[2],"data_offsets":)" + a_offsets + R"(},"b":{"dtype":"F32","shape":)" +
           b_shape + R"(,"data_offsets":)" + b_offsets + "}}";
}

const std::string data16 = "0123456789abcdef";

}  // namespace

TEST_CASE("safetensors: what was written is read, mapped or read, each tensor in its own type") {
    const support::TemporaryFolder folder;
    support::write_safetensors(folder / "model.safetensors", some_tensors());
    for (io::FileAccess access : {io::FileAccess::map, io::FileAccess::read}) {
        const io::TensorSet tensors = io::open_safetensors(folder / "model.safetensors", access);
        CHECK(tensors.size() == 5);
        CHECK(tensors.source() == folder / "model.safetensors");
        for (const support::FileTensor& written : some_tensors()) {
            const io::StoredTensor& t = tensors.at(written.name);
            CAPTURE(t.name);
            CHECK(io::storage_name(t.type) == written.type);
            CHECK(std::string_view(reinterpret_cast<const char*>(t.data.data()), t.data.size()) == written.data);
            CHECK(t.file->path() == folder / "model.safetensors");
        }
        CHECK(tensors.at("embed").shape == Shape{3, 4});
        CHECK(tensors.at("scalar").shape == Shape{});
        CHECK(values(tensors.at("embed")) == counting(12, -3));
        CHECK(values(tensors.at("head")) == counting(12, 7));
    }
}

TEST_CASE("acceptance A01: single file, or shards plus index, or one shard with an index of one entry") {
    const support::TemporaryFolder single, sharded, one, stale;
    const std::vector<support::FileTensor> written = some_tensors();
    support::write_safetensors(single / "model.safetensors", written);
    support::write_sharded_safetensors(sharded.path(), written, 2);
    support::write_sharded_safetensors(one.path(), std::span(written).first(1), 1);
    support::write_sharded_safetensors(stale.path(), written, 3);  // an index left beside the one file that counts
    support::write_safetensors(stale / "model.safetensors", written);
    std::filesystem::remove(stale / "model-00002-of-00003.safetensors");
    CHECK(io::open_safetensors_directory(one.path()).size() == 1);
    CHECK(io::open_safetensors_directory(stale.path()).size() == written.size());
    const io::TensorSet a = io::open_safetensors_directory(single.path()),
                        b = io::open_safetensors_directory(sharded.path()),
                        c = io::open_safetensors_directory(sharded.path(), io::FileAccess::read);
    CHECK(a.size() == written.size());
    CHECK(b.size() == written.size());
    for (const io::StoredTensor& t : a)
        for (const io::TensorSet* other : {&b, &c}) {
            CHECK(other->at(t.name).shape == t.shape);
            CHECK(std::ranges::equal(other->at(t.name).data, t.data));
        }
    const support::TemporaryFolder empty;
    CHECK(support::error_text<IoError>([&] { (void)io::open_safetensors_directory(empty.path()); }) ==
          empty.path().string() +
              ": no weights found; looked for model.safetensors and model.safetensors.index.json"
              " (beside config.json)");
    CHECK(support::error_text<IoError>([&] { (void)io::open_safetensors_directory(empty / "none"); }) ==
          (empty / "none").string() + " is no directory");
}

TEST_CASE("safetensors: an index that names shards or tensors that are not there lists all of them") {
    const support::TemporaryFolder folder;
    const auto text = [&]<class E>(E) {
        return support::error_text<E>([&] { (void)io::open_safetensors_directory(folder.path()); });
    };
    support::write_sharded_safetensors(folder.path(), some_tensors(), 3);
    const std::string index = support::read_file(folder / "model.safetensors.index.json");
    std::filesystem::remove(folder / "model-00002-of-00003.safetensors");
    CHECK(mentions(
        text(IoError("")),
        {"model.safetensors.index.json names shards that are missing, 1 of 3: model-00002-of-00003.safetensors"}));
    std::filesystem::remove(folder / "model-00001-of-00003.safetensors");
    CHECK(mentions(text(IoError("")), {"2 of 3: model-00001-of-00003.safetensors, model-00002-of-00003.safetensors"}));

    const auto replace_index = [&](std::string_view content) {
        support::write_file(folder / "model.safetensors.index.json", content);
    };
    support::write_sharded_safetensors(folder.path(), some_tensors(), 3);
    replace_index(
        R"({"weight_map":{"ids":"model-00001-of-00003.safetensors","norm":"model-00001-of-00003.safetensors"}})");
    CHECK(io::open_safetensors_directory(folder.path()).size() == 2);  // what the index does not list is not asked for
    replace_index(
        R"({"weight_map":{"x":"model-00001-of-00003.safetensors","norm":"model-00002-of-00003.safetensors"}})");
    CHECK(mentions(
        text(FormatError("")),
        {"names tensors that are not in their shards: x (model-00001-of-00003.safetensors), norm (model-00002"}));
    replace_index("{}");
    CHECK(mentions(text(FormatError("")), {"index.json: no 'weight_map'"}));
    replace_index("[]");
    CHECK(mentions(text(FormatError("")), {"index.json holds no JSON object, but array"}));
    replace_index("{\"weight_map\":{\"a\":");
    CHECK(mentions(text(FormatError("")), {"index.json: not valid JSON at line 1, column"}));
    for (const char* name : {"1", "\"../f\"", "\"/etc/passwd\"", "\"\"", "\"..\"", "\"a/b\"",
                             "\"model-00001-of-00003.safetensors\\u0000\"", "null"}) {
        replace_index(std::string("{\"weight_map\":{\"a\":") + name + "}}");
        CHECK(mentions(text(FormatError("")), {"index.json: 'weight_map.a' is ", ", expected the name of a file"}));
    }
}

TEST_CASE("acceptance A04: truncated safetensors files name the tensor, and the sizes found and expected") {
    const support::TemporaryFolder folder;
    support::write_safetensors(folder / "whole.safetensors", some_tensors());
    const std::string whole = support::read_file(folder / "whole.safetensors");
    const std::size_t header = 8 + support::safetensors_header(some_tensors(), "{\"format\":\"pt\"}").size();
    CHECK(refused(folder, whole.substr(0, whole.size() - 1)) ==
          message("f.safetensors: tensor 'scalar' ends at byte 76 of the data, of which there are 75: the file is cut "
                  "short (",
                  whole.size() - 1, " bytes, expected ", whole.size(), ")"));
    CHECK(mentions(
        refused(folder, whole.substr(0, header + 1)),
        {"f.safetensors: tensor 'norm' ends at byte 16", message(header + 1, " bytes, expected ", whole.size())}));
    CHECK(mentions(refused(folder, whole.substr(0, header - 1)),
                   {message("claims a header of ", header - 8, " bytes, but holds only ", header - 1,
                            " bytes: it is cut short")}));
    CHECK(mentions(refused(folder, whole.substr(0, 8)), {"claims a header of", "holds only 8 bytes: it is cut short"}));
    for (std::size_t n : {std::size_t{7}, std::size_t{0}})
        CHECK(refused(folder, whole.substr(0, n)) ==
              message("f.safetensors holds ", n, " bytes; a safetensors file has at least 8: it is cut short"));
}

TEST_CASE("acceptance A05: malformed safetensors layouts are refused by the tensor's name") {
    const support::TemporaryFolder folder;
    const auto file = [](const std::string& header, const std::string& data = data16) {
        return support::safetensors_bytes(header, data);
    };
    CHECK(refused(folder, file(two("[0,8]", "[4,12]"), data16.substr(0, 12))) ==
          "f.safetensors: tensor 'b' overlaps tensor 'a': it begins at byte 4, not 8");
    CHECK(refused(folder, file(two("[0,8]", "[0,8]"), data16.substr(0, 8))) ==
          "f.safetensors: tensor 'b' overlaps tensor 'a': it begins at byte 0, not 8");
    CHECK(refused(folder, file(two("[0,8]", "[12,20]"), data16 + "0123")) ==
          "f.safetensors: tensor 'b' begins at byte 12, leaving a hole of 4 bytes after tensor 'a'");
    CHECK(refused(folder, file(two("[4,12]", "[12,20]"), data16 + "0123")) ==
          "f.safetensors: tensor 'a' begins at byte 4, leaving a hole of 4 bytes after the beginning of the data");
    CHECK(mentions(refused(folder, file(two("[0,8]", "[8,16]"), data16 + "x")),
                   {"f.safetensors has 1 bytes after tensor 'b' ("}));
    CHECK(refused(folder, file(two("[8,0]", "[8,16]"))) ==
          "f.safetensors: tensor 'a' begins at byte 8 and ends before it, at 0");
    CHECK(refused(folder, file(two("[-1,7]", "[8,16]"))) ==
          "f.safetensors: tensor 'a': data_offsets has -1, expected a whole number of at least 0");
    CHECK(refused(folder, file(two("[0,8]", "[8,16]", "[8589934592,8589934592]"))) ==
          "f.safetensors: tensor 'b' claims the shape [8589934592, 8589934592], more elements than there can be");
    CHECK(refused(folder, file(two("[0,8]", "[8,16]", "[3]"))) ==
          "f.safetensors: tensor 'b' of shape [3] in F32 needs 12 bytes, but its data_offsets span 8");
    std::string huge = file(two("[0,8]", "[8,16]"));
    huge.replace(0, 8, std::string("\0\0\0\0\0\0\0\x80", 8));
    CHECK(mentions(refused(folder, huge), {"f.safetensors claims a header of 9223372036854775808 bytes"}));
    CHECK(refused(folder, file("[]")) == "f.safetensors: the header does not begin with '{'");
    CHECK(mentions(refused(folder, file("{\"a\":")), {"f.safetensors: not valid JSON at line 1, column "}));
    CHECK(refused(folder, file("")) == "f.safetensors: the header does not begin with '{'");

    support::write_file(folder / "f.safetensors",
                        file(two("[8,16]", "[0,8]")));  // the header's order need not be the data's
    const io::TensorSet tensors = io::open_safetensors(folder / "f.safetensors");
    CHECK(std::ranges::equal(tensors.at("b").data, std::as_bytes(std::span(data16)).first(8)));
    CHECK(std::ranges::equal(tensors.at("a").data, std::as_bytes(std::span(data16)).last(8)));
}

TEST_CASE("safetensors: entries that are not what they should be") {
    const support::TemporaryFolder folder;
    const auto entry = [&](const std::string& json) {
        return refused(folder, support::safetensors_bytes("{\"a\":" + json + "}", ""));
    };
    CHECK(entry("1") == "f.safetensors: tensor 'a' is number, expected an object");
    CHECK(entry("{}") == "f.safetensors: tensor 'a' has no dtype");
    CHECK(entry(R"({"dtype":1})") == "f.safetensors: tensor 'a': dtype is number, expected a string");
    CHECK(entry(R"({"dtype":"F32"})") == "f.safetensors: tensor 'a' has no shape");
    CHECK(entry(R"({"dtype":"F32","shape":2})") == "f.safetensors: tensor 'a': shape is number, expected an array");
    CHECK(entry(R"({"dtype":"F32","shape":[2.0]})") ==
          "f.safetensors: tensor 'a': shape has 2.0, expected a whole number of at least 0");
    CHECK(entry(R"({"dtype":"F32","shape":[[2]]})") ==
          "f.safetensors: tensor 'a': shape has array, expected a whole number of at least 0");
    CHECK(entry(R"({"dtype":"F32","shape":[2]})") == "f.safetensors: tensor 'a' has no data_offsets");
    CHECK(entry(R"({"dtype":"F32","shape":[0],"data_offsets":[0]})") ==
          "f.safetensors: tensor 'a': data_offsets are not two numbers");
    CHECK(entry(R"({"dtype":"F32","shape":[0],"data_offsets":[18446744073709551615,18446744073709551615]})") ==
          "f.safetensors: tensor 'a' ends at byte 18446744073709551615 of the data, of which there are 0: the file is "
          "cut short (100"
          " bytes, expected more than 64 bits count)");
    CHECK(
        refused(
            folder,
            support::safetensors_bytes(
                R"({"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},)"
                R"("a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}})",
                "")) == "f.safetensors: tensor 'a' is there twice");
    for (const char* field : {R"("dtype":"F32")", R"("shape":[0])", R"("data_offsets":[0,0])", R"("x":1)"}) {
        const std::string again = field, name = again.substr(1, again.find('"', 1) - 1);
        CHECK(entry(R"({"x":1,"dtype":"F32","shape":[0],"data_offsets":[0,0],)" + again + "}") ==
              "f.safetensors: tensor 'a' has '" + name + "' twice");
    }
    CHECK(refused<UnsupportedError>(
              folder, support::safetensors_bytes(R"({"a":{"dtype":"Q99","shape":[2],"data_offsets":[0,2]}})", "xx")) ==
          "f.safetensors: tensor 'a' has the unknown dtype \"Q99\"");
    CHECK(refused<UnsupportedError>(
              folder,
              support::safetensors_bytes(R"({"a":{"dtype":"U8","shape":[1,1,1,1,2],"data_offsets":[0,2]}})", "xx")) ==
          "f.safetensors: tensor 'a' has 5 dimensions [1, 1, 1, 1, 2]; at most 4 are read");
}

TEST_CASE("acceptance A07: a header of a hundred thousand tensors is read like any other") {
    const support::TemporaryFolder folder;
    std::string header = "{";
    for (int i = 0; i < 100'000; ++i)
        header += (i ? "," : "") + ("\"t" + std::to_string(i)) + R"(":{"dtype":"F32","shape":[0],"data_offsets":[0,0]})";
    support::write_file(folder / "f.safetensors", support::safetensors_bytes(header + "}", ""));
    CHECK(io::open_safetensors(folder / "f.safetensors").size() == 100'000);  // in a second, not in minutes
    CHECK(refused(folder, support::safetensors_bytes(header + R"(,"t5":{}})", "")) == "f.safetensors: tensor 't5' is there twice");
}

TEST_CASE("acceptance A07: padding and odd but legal headers") {
    const support::TemporaryFolder folder;
    const std::string plain = two("[0,8]", "[8,16]");
    const auto names = [&](const std::string& header, const std::string& data = data16) {
        support::write_file(folder / "f.safetensors", support::safetensors_bytes(header, data));
        std::string all;
        for (const io::StoredTensor& t : io::open_safetensors(folder / "f.safetensors")) all += t.name;
        return all;
    };
    CHECK(names(plain + "       ") == "ab");
    CHECK(names("{\"__metadata__\":{}," + plain.substr(1)) == "ab");
    CHECK(names("{\"__metadata__\":{\"dtype\":\"F32\",\"shape\":\"x\"}," + plain.substr(1)) == "ab");
    CHECK(names(R"({"e":{"dtype":"F32","shape":[0,4],"data_offsets":[8,8]},)" + plain.substr(1)) == "aeb");
    CHECK(names(R"({"e":{"dtype":"F32","shape":[4,0],"data_offsets":[16,16]},)" + plain.substr(1)) == "abe");
    CHECK(names("{}", "").empty());
    CHECK(names(R"({"__metadata__":{"format":"pt"}})", "").empty());
    CHECK(refused(folder, support::safetensors_bytes(plain + std::string(3, '\0'), data16)) ==
          "f.safetensors: the byte after the JSON header is 0, expected spaces up to the header's end");
    CHECK(mentions(refused(folder, support::safetensors_bytes(plain + std::string("\0{}", 3), data16)),
                   {"f.safetensors: not valid JSON at line 1, column ", ": a NUL byte"}));
    CHECK(mentions(refused(folder, support::safetensors_bytes(plain + "{}", data16)),
                   {"f.safetensors: not valid JSON at line 1, column "}));
    CHECK(refused(folder, support::safetensors_bytes(plain + " x", data16)) ==
          "f.safetensors: the byte after the JSON header is 120, expected spaces up to the header's end");
    CHECK(refused(folder, support::safetensors_bytes(
                              R"({"e":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)" + plain.substr(1),
                              data16)) == "f.safetensors: tensor 'e' overlaps tensor 'a': it begins at byte 4, not 8");
}

TEST_CASE("acceptance A14: tensors past 4 GiB are read where they are") {
    const support::TemporaryFolder folder;
    const std::uint64_t filler = 5ull << 30, tail_bytes = 12;
    const float tail[3] = {1.5f, -2.25f, 3e38f};
    const std::string header =
        message(R"({"filler":{"dtype":"U8","shape":[)", filler, R"(],"data_offsets":[0,)", filler,
                R"(]},"tail":{"dtype":"F32","shape":[3],"data_offsets":[)", filler, ",", filler + tail_bytes, "]}}");
    const std::filesystem::path path = folder / "f.safetensors";
    support::write_file(path, support::safetensors_bytes(header, ""));
    const std::uint64_t begin = 8 + header.size();
    REQUIRE(::truncate(path.c_str(), static_cast<::off_t>(begin + filler)) ==
            0);  // a hole in the file: no space is used
    std::ofstream out(path, std::ios::binary | std::ios::app);
    out.write(reinterpret_cast<const char*>(tail), sizeof tail);
    REQUIRE(out.flush());
    const io::TensorSet tensors = io::open_safetensors(path);
    CHECK(values(tensors.at("tail")) == std::vector<float>(tail, tail + 3));
    CHECK(tensors.at("filler").shape.numel() == static_cast<Index>(filler));
    CHECK(tensors.nbytes() == filler + tail_bytes);
    REQUIRE(::truncate(path.c_str(), static_cast<::off_t>(begin + filler + tail_bytes - 1)) == 0);
    CHECK(mentions(support::error_text<FormatError>([&] { (void)io::open_safetensors(path); }),
                   {"tensor 'tail'", "cut short",
                    message(begin + filler + tail_bytes - 1, " bytes, expected ", begin + filler + tail_bytes)}));
}

TEST_CASE("acceptance A03: a Git LFS pointer instead of safetensors") {
    const support::TemporaryFolder folder;
    support::write_file(folder / "model.safetensors",
                        "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n");
    CHECK(mentions(support::error_text<FormatError>([&] { (void)io::open_safetensors_directory(folder.path()); }),
                   {"model.safetensors", "Git LFS"}));
}

TEST_CASE("safetensors: whatever is damaged, a typed error or tensors come out") {
    const support::TemporaryFolder folder;
    support::write_safetensors(folder / "whole.safetensors", some_tensors());
    const std::string whole = support::read_file(folder / "whole.safetensors");
    int opened = 0;
    for (std::uint64_t seed = 0; seed < 3000; ++seed) {
        CAPTURE(seed);
        support::write_file(folder / "f.safetensors", support::mutate(whole, whole.size() - 76, seed));
        try {
            for (const io::StoredTensor& t : io::open_safetensors(folder / "f.safetensors"))
                if (io::can_convert(t.type)) (void)values(t);
            ++opened;
        } catch (const Error& e) { REQUIRE(mentions(e.what(), {"f.safetensors"})); }
    }
    CHECK(opened > 0);
    CHECK(opened < 3000);
}

TEST_CASE("safetensors: every file of the shared data opens") {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("SKIPPED: no shared data");
        return;
    }
    int directories = 0;
    for (const auto& entry : std::filesystem::directory_iterator(*shared / "tiny")) {
        if (!std::filesystem::exists(entry.path() / "config.json")) continue;
        CAPTURE(entry.path().string());
        CHECK(io::open_safetensors_directory(entry.path()).size() >= 12);
        const io::TensorSet golden = io::open_safetensors(entry.path() / "golden.safetensors");
        CHECK(golden.at("ids").type == io::StorageType::i32);
        CHECK(golden.at("logits").shape[0] == golden.at("ids").shape[0]);
        ++directories;
    }
    CHECK(directories > 20);
}
