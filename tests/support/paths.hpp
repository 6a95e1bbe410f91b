#pragma once
// Where tests find data made by other implementations, and where they put files of their own.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

namespace support {

/// The folder this repository was checked out to: $L3_REPOSITORY, else as far as the compiler's command line tells.
inline std::filesystem::path repository() {
    if (const char* named = std::getenv("L3_REPOSITORY")) return named;
    return std::filesystem::absolute(__FILE__).lexically_normal().parent_path().parent_path().parent_path();
}

/// The folder of shared test data: $L3_SHARED_DATA (which must exist), else ../shared/data beside the repository.
/// Absent: a test says so with MESSAGE and returns.
inline std::optional<std::filesystem::path> shared_data() {
    if (const char* named = std::getenv("L3_SHARED_DATA")) {
        if (!std::filesystem::is_directory(named))
            throw std::runtime_error(std::string("L3_SHARED_DATA names no folder: ") + named);
        return named;
    }
    const std::filesystem::path beside = (repository() / "../shared/data").lexically_normal();
    return std::filesystem::is_directory(beside) ? std::optional(beside) : std::nullopt;
}

/// A fresh folder under the system's temporary one, removed with everything in it at the end of the scope.
class TemporaryFolder {
  public:
    TemporaryFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "l3-test-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder " + name);
        path_ = name;
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] const std::filesystem::path& path() const { return path_; }
    friend std::filesystem::path operator/(const TemporaryFolder& folder, const std::filesystem::path& name) {
        return folder.path_ / name;
    }

  private:
    std::filesystem::path path_;
};

/// Writes a new file, in place of one of this name (which stays as it is for those who have it open or mapped).
inline void write_file(const std::filesystem::path& path, std::string_view bytes) {
    std::filesystem::remove(path);
    std::ofstream out(path, std::ios::binary | std::ios::trunc);
    out.write(bytes.data(), std::streamsize(bytes.size()));
    if (!out.flush()) throw std::runtime_error("cannot write " + path.string());
}

inline std::string read_file(const std::filesystem::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) throw std::runtime_error("cannot read " + path.string());
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace support
