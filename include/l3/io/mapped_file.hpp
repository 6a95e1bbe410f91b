#pragma once
// Files as bytes in memory. Every reader of this folder opens its files here.
#include "../core/error.hpp"
#include "../core/math.hpp"
#include "../device/cpu/memory.hpp"
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace l3::inline v0::io {

/// How a file gets into memory: mapped (pages come when touched and are shared between processes), or read at once.
enum class FileAccess { map, read };

/// A file's bytes, read-only, for as long as anyone holds the pointer that open() returns.
/// Thread-safe. A mapped file that another process cuts short while it is in use ends the program, as with any mapping:
/// where that can happen, use FileAccess::read.
class MappedFile {
  public:
    /// Opens a regular file. Throws IoError naming the path and the system's reason, OutOfMemoryError when reading, and
    /// FormatError if the file is a Git LFS pointer, which stands where a file should be that was never downloaded.
    [[nodiscard]] static std::shared_ptr<const MappedFile> open(const std::filesystem::path& path,
                                                                FileAccess access = FileAccess::map) {
        std::shared_ptr<const MappedFile> file(new MappedFile(path, access));
        require<FormatError>(!file->text().starts_with("version https://git-lfs"), path.string(),
                             " is a Git LFS pointer: the real file was never downloaded (\"git lfs pull\" fetches it)");
        return file;
    }
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    ~MappedFile() {
        if (data_ != nullptr) ::munmap(data_, size_);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    [[nodiscard]] std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(data_), size_}; }
    [[nodiscard]] std::string_view text() const { return {static_cast<const char*>(data_), size_}; }
    [[nodiscard]] std::uint64_t size_bytes() const { return size_; }

    /// Brings the pages of bytes [begin, end) into memory, so that later work does not wait for the disk. Ranges can be
    /// given to several threads. Nothing is lost where the system cannot: the pages then come when touched.
    void prefault(std::uint64_t begin, std::uint64_t end) const noexcept {
        begin = begin / page_bytes * page_bytes;
        end = std::min<std::uint64_t>(end, size_);
        if (begin >= end) return;
        const std::byte* const data = static_cast<const std::byte*>(data_);
#ifdef MADV_POPULATE_READ
        // madvise takes a pointer to non-const, but reading ahead changes nothing.
        if (::madvise(const_cast<std::byte*>(data) + begin, end - begin, MADV_POPULATE_READ) == 0) return;
#endif
        for (std::uint64_t at = begin; at < end; at += page_bytes) {
            [[maybe_unused]] const volatile std::byte touched = data[at];
        }
    }

    /// Says that bytes [begin, end) are not needed soon: this process gives their memory back, and they come again when
    /// touched. Does nothing for a file that was read.
    void forget(std::uint64_t begin, std::uint64_t end) const noexcept {
        begin = align_up(begin, page_bytes);
        end = std::min<std::uint64_t>(end, size_) / page_bytes * page_bytes;
        if (mapped_ && begin < end) ::madvise(static_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
    }

  private:
    static constexpr std::uint64_t page_bytes = 4096;  // the smallest of any system l3 runs on

    struct Descriptor {
        int fd;
        explicit Descriptor(int opened) : fd(opened) {}
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        ~Descriptor() {
            if (fd >= 0) ::close(fd);
        }
    };

    MappedFile(const std::filesystem::path& path, FileAccess access) : path_(path) {
        // O_NONBLOCK: opening a pipe by mistake must not wait for a writer.
        const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
        if (file.fd < 0) fail_system("cannot open ");
        struct ::stat info = {};
        if (::fstat(file.fd, &info) != 0) fail_system("cannot look at ");
        require<IoError>(!S_ISDIR(info.st_mode), path_.string(), " is a directory, expected a file");
        require<IoError>(S_ISREG(info.st_mode), path_.string(), " is not a regular file");
        static_assert(sizeof info.st_size == 8, "files beyond 2 GiB need 64-bit sizes");
        const auto size = static_cast<std::size_t>(info.st_size);
        if (size == 0) return;  // nothing can be mapped, and nothing need be
        if (access == FileAccess::map) {
            void* const data = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.fd, 0);
            if (data == MAP_FAILED) fail_system("cannot map ");
            data_ = data;
            size_ = size;
            mapped_ = true;
        } else {
            read_all(file.fd, size);
        }
    }

    void read_all(int fd, std::size_t size) {
        void* const data = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (data == MAP_FAILED)
            throw OutOfMemoryError(message("no memory to read ", path_.string(), ": ", size, " bytes"), size);
        prefer_huge_pages(data, size);
        for (std::size_t done = 0; done < size;) {
            const ::ssize_t n = ::pread(fd, static_cast<char*>(data) + done, std::min(size - done, read_bytes),
                                        static_cast<::off_t>(done));
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) {
                const int reason = errno;
                ::munmap(data, size);  // here, since the destructor does not run when a constructor throws
                require<IoError>(n != 0, path_.string(), " became shorter while it was read: ", done, " bytes of ",
                                 size);
                errno = reason;
                fail_system("cannot read ");
            }
            done += static_cast<std::size_t>(n);
        }
        data_ = data;
        size_ = size;
    }

    [[noreturn]] void fail_system(const char* attempted) const {
        fail<IoError>(attempted, path_.string(), ": ", std::generic_category().message(errno));
    }

    static constexpr std::size_t read_bytes = std::size_t{1} << 26;

    std::filesystem::path path_;
    void* data_ = nullptr;
    std::size_t size_ = 0;
    bool mapped_ = false;
};

}  // namespace l3::inline v0::io
