#include <doctest/doctest.h>
#include <l3/io/mapped_file.hpp>
#include "support/error_text.hpp"
#include "support/paths.hpp"
#include <sys/stat.h>
#include <utility>

using namespace l3;

TEST_CASE("MappedFile has a file's bytes, mapped or read, as long as it is held") {
    const support::TemporaryFolder folder;
    for (std::size_t size : {std::size_t{1}, std::size_t{4095}, std::size_t{4096}, std::size_t{100'000}}) {
        std::string text(size, ' ');
        for (std::size_t i = 0; i < size; ++i) text[i] = static_cast<char>(i * 7 + size);
        support::write_file(folder / "file", text);
        const auto mapped = io::MappedFile::open(folder / "file"),
                   read = io::MappedFile::open(folder / "file", io::FileAccess::read);
        std::filesystem::remove(folder / "file");
        for (const auto& file : {mapped, read}) {
            CHECK(file->text() == text);
            CHECK(file->bytes().size() == size);
            CHECK(file->size_bytes() == size);
            CHECK(file->path() == folder / "file");
            for (const auto& [begin, end] : {std::pair<std::uint64_t, std::uint64_t>{0, size},
                                             {size - 1, size},
                                             {1, ~0ull},
                                             {7, 3},
                                             {~0ull, ~0ull}})
                file->prefault(begin, end);
        }
    }
}

TEST_CASE("MappedFile gives memory back and has the same bytes afterwards, mapped or read") {
    const support::TemporaryFolder folder;
    std::string text(100000, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = char(i * 31 % 251);
    support::write_file(folder / "file", text);
    for (const auto access : {io::FileAccess::map, io::FileAccess::read}) {
        const auto file = io::MappedFile::open(folder / "file", access);
        for (std::uint64_t begin : {0ull, 1ull, 4096ull, 99999ull})
            for (std::uint64_t end : {0ull, 5000ull, 100000ull, 200000ull}) {
                file->forget(begin, end);
                REQUIRE(file->text() == text);
            }
    }
}

TEST_CASE("MappedFile opens an empty file, through a symbolic link too") {
    const support::TemporaryFolder folder;
    support::write_file(folder / "file", "");
    std::filesystem::create_symlink("file", folder / "link");
    for (io::FileAccess access : {io::FileAccess::map, io::FileAccess::read}) {
        const auto file = io::MappedFile::open(folder / "link", access);
        CHECK(file->bytes().empty());
        file->prefault(0, 10);
    }
}

TEST_CASE("MappedFile says what cannot be opened, and why") {
    const support::TemporaryFolder folder;
    const auto open = [](const std::filesystem::path& path) { return [path] { (void)io::MappedFile::open(path); }; };
    CHECK(support::error_text<IoError>(open(folder / "absent.gguf")) ==
          "cannot open " + (folder / "absent.gguf").string() + ": No such file or directory");
    CHECK(support::error_text<IoError>(open(folder.path())) ==
          folder.path().string() + " is a directory, expected a file");
    REQUIRE(::mkfifo((folder / "pipe").c_str(), 0600) == 0);
    CHECK(support::error_text<IoError>(open(folder / "pipe")) == (folder / "pipe").string() + " is not a regular file");
}

TEST_CASE("acceptance A03: a Git LFS pointer is called one, whatever it stands for") {
    const support::TemporaryFolder folder;
    for (const char* name :
         {"model.safetensors", "x.gguf", "model.bin", "tokenizer.json", "tokenizer.bin", "config.json"}) {
        support::write_file(
            folder / name,
            "version https://git-lfs.github.com/spec/v1\n"
            "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n");
        for (io::FileAccess access : {io::FileAccess::map, io::FileAccess::read}) {
            const std::string text =
                support::error_text<FormatError>([&] { (void)io::MappedFile::open(folder / name, access); });
            CHECK(text == (folder / name).string() +
                              " is a Git LFS pointer: the real file was never downloaded (\"git lfs pull\""
                              " fetches it)");
        }
    }
}
