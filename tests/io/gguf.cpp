#include <doctest/doctest.h>
#include <l3/io/convert.hpp>
#include <l3/io/gguf.hpp>
#include "support/error_text.hpp"
#include "support/mutate.hpp"
#include "support/write_gguf.hpp"
#include "support/write_safetensors.hpp"

using namespace l3;
using support::FileTensor;
using support::GgufMetadata;
using support::mentions;

namespace {

std::vector<GgufMetadata> some_metadata() {
    return {{"general.architecture", std::string("llama")},
            {"llama.block_count", std::uint32_t{2}},
            {"llama.attention.layer_norm_rms_epsilon", 1e-5f},
            {"tokenizer.ggml.tokens", std::vector<std::string>{"a", "", "\xC4\xA0"}},
            {"tokenizer.ggml.scores", std::vector<float>{0, -1, -2}},
            {"tokenizer.ggml.token_type", std::vector<std::int32_t>{1, 3, 1}},
            {"tokenizer.ggml.add_bos_token", false}};
}

std::vector<FileTensor> some_tensors() {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6, 7, 8};
    return {support::f32_tensor("output_norm.weight", {8}, values),
            support::bf16_tensor("token_embd.weight", {4, 2}, values),
            {"blk.0.attn_q.weight", "Q8_0", {2, 32}, std::string(68, '\1')},
            support::f16_tensor("cube", {2, 2, 2}, values),
            {"blk.0.ffn_up.weight", "Q4_K", {1, 256}, std::string(144, '\2')},
            support::f32_tensor("last", {8}, values)};
}

/// The text of the E that opening these bytes throws, without the folder.
template <class E = FormatError>
std::string refused(const support::TemporaryFolder& folder, const std::string& bytes,
                    const std::string& name = "f.gguf") {
    support::write_file(folder / name, bytes);
    std::string text = support::error_text<E>([&] { (void)io::open_gguf(folder / name); });
    const std::string prefix = folder.path().string() + "/";
    for (std::size_t at; (at = text.find(prefix)) != text.npos;) text.erase(at, prefix.size());
    return text;
}

/// A file with one or two F32 tensors [8], whose infos are written here so that every field can lie.
struct Info {
    std::string name = "t";
    std::vector<std::uint64_t> dims = {8};
    std::uint32_t type = 0;
    std::uint64_t offset = 0;
};
std::string with_infos(const std::vector<Info>& infos, std::size_t data_bytes, std::uint32_t alignment = 32) {
    support::GgufBytes out;
    out.bytes = "GGUF";
    out.number(std::uint32_t{3}).number(std::uint64_t(infos.size())).number(std::uint64_t{1});
    support::put_gguf_value(out.text("general.alignment"), alignment);
    for (const Info& info : infos) {
        out.text(info.name).number(std::uint32_t(info.dims.size()));
        for (std::uint64_t d : info.dims) out.number(d);
        out.number(info.type).number(info.offset);
    }
    return out.pad(alignment ? alignment : 1).bytes + std::string(data_bytes, '\0');
}

}  // namespace

TEST_CASE("GGUF: what was written is read, versions 2 and 3, mapped or read") {
    const support::TemporaryFolder folder;
    for (std::uint32_t version : {2u, 3u})
        for (std::uint64_t alignment : {8u, 32u, 64u, 4096u})
            for (io::FileAccess access : {io::FileAccess::map, io::FileAccess::read}) {
                CAPTURE(version);
                CAPTURE(alignment);
                support::write_gguf(folder / "f.gguf", some_metadata(), some_tensors(), {version, alignment});
                const io::Gguf gguf = io::open_gguf(folder / "f.gguf", access);
                CHECK(gguf.version == version);
                CHECK(gguf.path == folder / "f.gguf");
                CHECK(gguf.files.size() == 1);
                CHECK(gguf.metadata.get<std::string>("general.architecture") == "llama");
                CHECK(gguf.metadata.get<float>("llama.attention.layer_norm_rms_epsilon") == 1e-5f);
                CHECK(gguf.metadata.get<std::vector<std::string_view>>("tokenizer.ggml.tokens") ==
                      std::vector<std::string_view>{"a", "", "\xC4\xA0"});
                CHECK_FALSE(gguf.metadata.get<bool>("tokenizer.ggml.add_bos_token"));
                CHECK(gguf.tensors.size() == some_tensors().size());
                for (const FileTensor& written : some_tensors()) {
                    const io::StoredTensor& t = gguf.tensors.at(written.name);
                    CHECK(io::storage_name(t.type) == written.type);
                    CHECK(std::string_view(reinterpret_cast<const char*>(t.data.data()), t.data.size()) ==
                          written.data);
                }
                CHECK(gguf.tensors.at("token_embd.weight").shape == Shape{4, 2});
                CHECK(gguf.tensors.at("cube").shape == Shape{2, 2, 2});
                CHECK(gguf.tensors.begin()->name == "output_norm.weight");
                CHECK(mentions(support::error_text<FormatError>([&] { (void)gguf.tensors.at("output.weight"); }),
                               {"f.gguf has no tensor 'output.weight'"}));
            }
}

TEST_CASE("GGUF: a file of metadata alone, and an empty one") {
    const support::TemporaryFolder folder;
    support::write_gguf(folder / "vocab.gguf", some_metadata(), {});
    CHECK(io::open_gguf(folder / "vocab.gguf").tensors.empty());
    support::write_gguf(folder / "none.gguf", {}, {});
    CHECK(io::open_gguf(folder / "none.gguf").metadata.size() == 0);
}

TEST_CASE("GGUF: magic and version") {
    const support::TemporaryFolder folder;
    const std::string whole = support::gguf_bytes(some_metadata(), some_tensors());
    const auto version = [&](const char* bytes) { return std::string(whole).replace(4, 4, std::string(bytes, 4)); };
    CHECK(refused(folder, "GGUX" + whole.substr(4)) == "f.gguf is no GGUF file: it does not begin with 'GGUF'");
    CHECK(refused<UnsupportedError>(folder, "tjgg" + whole.substr(4)) ==
          "f.gguf is a GGML file from before GGUF; it must be converted to GGUF");
    CHECK(refused<UnsupportedError>(folder, version("\1\0\0\0")) ==
          "f.gguf has GGUF version 1; versions 2 and 3 are read");
    CHECK(refused<UnsupportedError>(folder, version("\4\0\0\0")) ==
          "f.gguf has GGUF version 4; versions 2 and 3 are read");
    CHECK(refused<UnsupportedError>(folder, version("\0\0\0\3")) ==
          "f.gguf is a big-endian GGUF file; little-endian ones are read");
    CHECK(mentions(support::error_text<IoError>([&] { (void)io::open_gguf(folder / "absent.gguf"); }),
                   {"cannot open", "absent.gguf"}));
}

TEST_CASE("acceptance A03: a Git LFS pointer instead of a GGUF file") {
    const support::TemporaryFolder folder;
    CHECK(mentions(refused(folder, "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n"),
                   {"f.gguf", "Git LFS"}));
}

TEST_CASE("acceptance A04: truncated GGUF files name the tensor, and the sizes found and expected") {
    const support::TemporaryFolder folder;
    const std::string whole = support::gguf_bytes(some_metadata(), some_tensors());
    REQUIRE(some_tensors().back().data.size() % 32 == 0);  // no padding at the end
    CHECK(mentions(
        refused(folder, whole.substr(0, whole.size() - 1)),
        {"f.gguf: tensor 'last' (F32 [8], 32 bytes at offset ", ") goes beyond the end of the file: it is cut short (",
         message(whole.size() - 1, " bytes, expected at least ", whole.size(), ")")}));
    CHECK(mentions(refused(folder, whole.substr(0, whole.size() - 200)),
                   {"tensor 'blk.0.ffn_up.weight' (Q4_K [1, 256], 144 bytes", "cut short"}));
    CHECK(refused(folder, "") ==
          "f.gguf: the magic 'GGUF' needs 4 bytes at byte 0, of which there are 0: the file is cut short (0 bytes) or "
          "malformed");
    CHECK(mentions(refused(folder, "GGU"), {"f.gguf: the magic 'GGUF' needs 4 bytes", "cut short (3 bytes)"}));
    CHECK(mentions(refused(folder, "GGUF"), {"f.gguf: the version needs 4 bytes at byte 4, of which there are 0"}));
    for (std::size_t n = 0; n < whole.size(); ++n) {  // everywhere
        CAPTURE(n);
        REQUIRE(mentions(refused(folder, whole.substr(0, n)), {"f.gguf", "cut short"}));
    }
}

TEST_CASE("acceptance A21: GGUF regions are as large as type and shape need, and aligned") {
    const support::TemporaryFolder folder;
    CHECK(refused(folder, with_infos({{"a"}, {"b", {8}, 0, 28}}, 64)) ==
          "f.gguf: tensor 'b' begins at offset 28, no multiple of the alignment 32");
    CHECK(refused(folder, with_infos({{"a"}, {"b", {8}, 0, 28}}, 64, 4)) ==
          "f.gguf: tensor 'b' (F32 [8], 32 bytes at offset 28) begins inside tensor 'a', whose type F32 and shape [8] "
          "need 32 bytes, not 28");
    CHECK(refused(folder, with_infos({{"a", {32, 2}, 8}, {"b", {8}, 0, 32}}, 96)) ==
          "f.gguf: tensor 'b' (F32 [8], 32 bytes at offset 32) begins inside tensor 'a', whose type Q8_0 and shape [2, "
          "32] need 68 bytes, not 32");
    CHECK(
        mentions(refused(folder, with_infos({{"a"}, {"b"}}, 64)), {"tensor 'b'", "begins inside tensor 'a'", "not 0"}));
    CHECK(refused(folder, with_infos({{"a"}, {"a", {8}, 0, 32}}, 64)).find("is there twice") != std::string::npos);
    CHECK(mentions(refused(folder, with_infos({{"a", {8}, 0, 32}, {"b", {8}, 0, 0}}, 32)),
                   {"tensor 'a'", "goes beyond the end"}));
    CHECK(mentions(refused(folder, with_infos({{"a", {8}, 0, ~std::uint64_t{31}}}, 64)),
                   {"tensor 'a'", "goes beyond the end", "expected more than 64 bits count"}));
    support::write_file(folder / "f.gguf",
                        with_infos({{"a", {8}, 0, 64}, {"b", {8}, 0, 0}}, 96));  // any order, with room between
    CHECK(io::open_gguf(folder / "f.gguf").tensors.size() == 2);
    support::write_file(folder / "f.gguf",
                        with_infos({{"a", {8}, 0, 0}, {"b", {0}, 0, 32}}, 32));  // an empty one at the end
    CHECK(io::open_gguf(folder / "f.gguf").tensors.size() == 2);

    for (std::uint32_t alignment : {0u, 3u, 48u, 0xFFFFFFFFu}) {
        CAPTURE(alignment);
        std::string bytes = support::gguf_bytes({{GgufMetadata{"general.alignment", alignment}}}, {});
        CHECK(refused(folder, bytes) ==
              message("f.gguf: metadata 'general.alignment' is ", alignment, ", expected a power of two"));
    }
    CHECK(refused(folder, support::gguf_bytes({{GgufMetadata{"general.alignment", std::string("32")}}}, {})) ==
          "f.gguf: metadata 'general.alignment' is string '32', expected an integer of 32 bits");
}

TEST_CASE("acceptance A21: quantised types that cannot be read are named with the tensor when it is used") {
    const support::TemporaryFolder folder;
    support::write_gguf(folder / "f.gguf", some_metadata(), some_tensors());
    const io::Gguf gguf = io::open_gguf(folder / "f.gguf");
    float out[256];
    CHECK(support::error_text<UnsupportedError>([&] {
              io::convert_rows(gguf.tensors.at("blk.0.ffn_up.weight"), 0, 1, out);
          }) == "tensor 'blk.0.ffn_up.weight' (" + (folder / "f.gguf").string() +
                    ") has the type Q4_K; F32, F16, BF16, Q8_0, Q4_0 and Q4_1 are read");
    CHECK(refused<UnsupportedError>(folder, with_infos({{"t", {8}, 4}}, 32)) ==
          "f.gguf: tensor 't' has the tensor type number 4, which is not known");
    CHECK(refused<UnsupportedError>(folder, with_infos({{"t", {8}, 0xFFFFFFFF}}, 32)) ==
          "f.gguf: tensor 't' has the tensor type number 4294967295, which is not known");
}

TEST_CASE("acceptance A21: the parts of a split GGUF file are opened together, from the first") {
    const support::TemporaryFolder folder;
    const std::vector<FileTensor> tensors = some_tensors();
    const auto part_name = [](int part) { return support::shard_name(part, 3, "m", "gguf"); };
    const auto write_part = [&](int part, std::span<const FileTensor> some, int said_part, int said_parts) {
        std::vector<GgufMetadata> metadata = part == 1 ? some_metadata() : std::vector<GgufMetadata>{};
        metadata.push_back({"split.no", std::uint16_t(said_part - 1)});
        metadata.push_back({"split.count", std::uint16_t(said_parts)});
        metadata.push_back({"split.tensors.count", std::int32_t(tensors.size())});
        support::write_gguf(folder / part_name(part), metadata, some);
    };
    const std::span all(tensors);
    write_part(1, {}, 1, 3);
    write_part(2, all.subspan(0, 3), 2, 3);
    write_part(3, all.subspan(3), 3, 3);
    const auto open = [&](int part) {
        std::string text = support::error_text<Error>([&] { (void)io::open_gguf(folder / part_name(part)); });
        for (std::size_t at; (at = text.find(folder.path().string() + "/")) != text.npos;)
            text.erase(at, folder.path().string().size() + 1);
        return text;
    };
    for (io::FileAccess access : {io::FileAccess::map, io::FileAccess::read}) {
        const io::Gguf gguf = io::open_gguf(folder / part_name(1), access);
        CHECK(gguf.tensors.size() == tensors.size());
        CHECK(gguf.files.size() == 3);
        CHECK(gguf.metadata.get<int>("llama.block_count") == 2);
        for (const FileTensor& written : tensors)
            CHECK(std::ranges::equal(gguf.tensors.at(written.name).data, std::as_bytes(std::span(written.data))));
    }
    CHECK(open(2) ==
          "m-00002-of-00003.gguf is part 2 of a split GGUF file; open part 1 (m-00001-of-00003.gguf), which holds the "
          "metadata");
    write_part(3, all.subspan(3), 2, 3);
    CHECK(open(1) == "m-00003-of-00003.gguf does not say it is part 3 of 3 in 'split.no' and 'split.count'");
    write_part(3, all.subspan(4), 3, 3);
    CHECK(open(1) == "m-00001-of-00003.gguf: its 3 parts hold 5 tensors, expected 6");
    write_part(3, all.subspan(2), 3, 3);
    CHECK(mentions(open(1), {"tensor 'blk.0.attn_q.weight' (m-00002-of-00003.gguf) is there twice, again as",
                             "(m-00003-of-00003.gguf)"}));
    std::filesystem::remove(folder / part_name(2));
    CHECK(open(1) == "m-00001-of-00003.gguf is part 1 of 3, but part 2 is missing: m-00002-of-00003.gguf");
    std::filesystem::rename(folder / part_name(1), folder / "renamed.gguf");
    CHECK(mentions(support::error_text<FormatError>([&] { (void)io::open_gguf(folder / "renamed.gguf"); }),
                   {"renamed.gguf says it is part 1 of 3; the others are found by name, so its own must end in "
                    "-00001-of-00003.gguf"}));
}

TEST_CASE("GGUF: hostile counts and shapes are refused before memory is allocated for them") {
    const support::TemporaryFolder folder;
    const std::string whole = support::gguf_bytes(some_metadata(), some_tensors());
    for (std::uint64_t count :
         {std::uint64_t{1} << 20, std::uint64_t{1} << 40, std::uint64_t{1} << 63, ~std::uint64_t{0}})
        for (std::size_t at : {std::size_t{8}, std::size_t{16}}) {
            std::string bytes = whole;
            std::memcpy(bytes.data() + at, &count, sizeof count);
            CHECK(mentions(refused(folder, bytes),
                           {at == 8 ? "f.gguf: the number of tensors is " : "f.gguf: the number of metadata values is ",
                            std::to_string(count), ", more than fit"}));
        }
    CHECK(refused(folder, with_infos({{"t", {1, 1, 1, 1, 8}}}, 32)) ==
          "f.gguf: tensor 't' claims 5 dimensions; there are at most 4 in GGUF");
    CHECK(refused(folder, with_infos({{"t", {std::uint64_t{1} << 33, std::uint64_t{1} << 33}}}, 32)) ==
          "f.gguf: tensor 't' claims the shape [8589934592, 8589934592], more elements than there can be");
    CHECK(refused(folder, with_infos({{"t", {33, 2}, 8}}, 96)) ==
          "f.gguf: tensor 't' claims the shape [2, 33] in Q8_0, whose rows are whole blocks of 32 elements");
    CHECK(mentions(refused(folder, with_infos({{"t", {std::uint64_t{1} << 40}}}, 32)),
                   {"tensor 't' (F32 [1099511627776], 4398046511104 bytes", "cut short"}));
    CHECK(refused(folder, support::gguf_bytes({{GgufMetadata{"k", 1.0f}, GgufMetadata{"k", 2.0f}}}, {})) ==
          "f.gguf: metadata 'k' is there twice");
}

TEST_CASE("GGUF: whatever is damaged, a typed error or a model's parts come out") {
    const support::TemporaryFolder folder;
    const std::string whole = support::gguf_bytes(some_metadata(), some_tensors());
    int opened = 0;
    for (std::uint64_t seed = 0; seed < 5000; ++seed) {
        CAPTURE(seed);
        support::write_file(folder / "f.gguf", support::mutate(whole, whole.size() - 384, seed));
        try {
            const io::Gguf gguf = io::open_gguf(folder / "f.gguf");
            for (const io::StoredTensor& t : gguf.tensors) {
                if (!io::can_convert(t.type)) continue;
                std::vector<float> out(static_cast<std::size_t>(t.shape.numel()));
                io::convert_rows(t, 0, t.shape.rows(), out.data());
            }
            for (const auto& [key, value] : gguf.metadata) {
                (void)support::error_text<FormatError>([&] { (void)gguf.metadata.get<int>(key); });
                (void)support::error_text<FormatError>([&] { (void)gguf.metadata.get<std::vector<float>>(key); });
                (void)support::error_text<FormatError>([&] { (void)gguf.metadata.get<std::vector<std::string>>(key); });
            }
            ++opened;
        } catch (const Error& e) { REQUIRE(mentions(e.what(), {"f.gguf"})); }
    }
    CHECK(opened > 0);
    CHECK(opened < 5000);
}

TEST_CASE("GGUF: every file of the shared data opens") {
    const auto shared = support::shared_data();
    if (!shared) {
        MESSAGE("SKIPPED: no shared data");
        return;
    }
    int files = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(*shared)) {
        const std::string name = entry.path().filename().string();
        if (!name.ends_with(".gguf") || (name.find("-of-") != name.npos && !name.starts_with("model-00001"))) continue;
        CAPTURE(entry.path().string());
        const io::Gguf gguf = io::open_gguf(entry.path());
        CHECK(gguf.metadata.get<std::string>("general.architecture").size() > 0);
        CHECK((gguf.tensors.size() > 10 || name == "vocab.gguf"));
        ++files;
    }
    CHECK(files >= 15);
}
