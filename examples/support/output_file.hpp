#pragma once
// What programs write: files that are there whole or not at all, and never in the place of one that is read.
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <l3/core/error.hpp>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace programs {

namespace detail {

[[noreturn]] inline void cannot_write(const std::filesystem::path& path, const std::string& reason) {
    l3::fail<l3::IoError>(path.string(), ": cannot write: ", reason);
}
inline std::string system_reason(int error) { return std::generic_category().message(error); }

/// True for what is no file that could be put in another's place: pipes, devices, and the program's own streams.
inline bool written_directly(const std::filesystem::path& path) {
    namespace fs = std::filesystem;
    std::error_code none;
    return fs::is_other(path, none) || fs::equivalent(path, "/dev/stdout", none) ||
           fs::equivalent(path, "/dev/stderr", none);
}
/// Where a file lies: a link to it stays one.
inline std::filesystem::path resolved(const std::filesystem::path& path) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::weakly_canonical(path, error);
    return error ? path : target;
}
inline std::filesystem::path folder_of(const std::filesystem::path& file) {
    return file.has_parent_path() ? file.parent_path() : ".";
}

}  // namespace detail

/// Throws IoError unless this file can be written and is none of the inputs: to be called before any work. Writes
/// nothing.
inline void check_output(const std::filesystem::path& path, const std::vector<std::filesystem::path>& inputs) {
    namespace fs = std::filesystem;
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (fs::is_directory(status)) detail::cannot_write(path, "it is a directory");
    if (!fs::status_known(status)) detail::cannot_write(path, error.message());
    if (fs::exists(status) && ::access(path.c_str(), W_OK) != 0)
        detail::cannot_write(path, detail::system_reason(errno));
    if (detail::written_directly(path)) return;
    for (const fs::path& input : inputs)
        if (fs::equivalent(path, input, error))
            detail::cannot_write(path, "it is " + input.string() + ", which is read");
    const fs::path folder = detail::folder_of(detail::resolved(path));
    if (::access(folder.c_str(), W_OK | X_OK) != 0)
        detail::cannot_write(path, "its folder " + folder.string() + ": " + detail::system_reason(errno));
}

/// A file being written: beside its place until commit() puts it there, so that nothing happens to a file that is there
/// before unless all went well; what is written after that, and to pipes and devices, is there at once.
class OutputFile {
  public:
    /// Throws IoError naming the path and the system's reason.
    explicit OutputFile(const std::filesystem::path& path) : path_(path) {
        if (detail::written_directly(path)) {
            file_ = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
        } else {
            target_ = detail::resolved(path);
            for (int n = 0; file_ < 0 && (n == 0 || errno == EEXIST); ++n) {
                temporary_ = detail::folder_of(target_) / l3::message(".l3-", ::getpid(), "-", n);
                file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            }
            struct ::stat before = {};
            if (file_ >= 0 && ::stat(target_.c_str(), &before) == 0) ::fchmod(file_, before.st_mode & 07777);
        }
        if (file_ < 0) detail::cannot_write(path_, detail::system_reason(errno));
    }
    ~OutputFile() {
        ::close(file_);
        if (!target_.empty()) ::unlink(temporary_.c_str());
    }
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    /// Throws IoError.
    void write(std::string_view bytes) {
        while (!bytes.empty()) {
            const ::ssize_t n = ::write(file_, bytes.data(), bytes.size());
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) detail::cannot_write(path_, detail::system_reason(errno));
            bytes.remove_prefix(std::size_t(n));
        }
    }
    /// Puts what was written in its place. Throws IoError.
    void commit() {
        if (target_.empty()) return;
        if (::rename(temporary_.c_str(), target_.c_str()) != 0)
            detail::cannot_write(path_, detail::system_reason(errno));
        target_.clear();
    }

  private:
    std::filesystem::path path_, target_, temporary_;  // target_: empty if there is nothing to put in its place
    int file_ = -1;
};

/// Writes a file of text. Throws IoError, and then leaves what was there.
inline void write_text(const std::filesystem::path& path, std::string_view text) {
    OutputFile file(path);
    file.write(text);
    file.commit();
}

}  // namespace programs
