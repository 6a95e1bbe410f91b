#pragma once
#include "../../core/config.hpp"
#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <sched.h>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace l3::inline v0::cpu {

namespace detail {

/// The first line of a file of the system, or "" if there is none.
inline std::string first_line(const std::filesystem::path& path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

inline long number(const std::string& text, long otherwise) {
    long value = otherwise;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
}

/// The processor time that the control group of this process may use, in processors; huge if it is not limited.
inline double cgroup_limit(const std::filesystem::path& root) {
    double limit = 1e9;
    const auto quota = [&limit](long microseconds, long period) {
        if (microseconds > 0 && period > 0) limit = std::min(limit, double(microseconds) / double(period));
    };
    std::ifstream groups(root / "proc/self/cgroup");
    for (std::string line; std::getline(groups, line);) {  // ID:CONTROLLERS:PATH; version 2 has no controllers
        const auto first = line.find(':'), second = line.find(':', first + 1);
        if (second == std::string::npos) continue;
        std::string controllers = ",";  // not "," + a temporary: a false warning of GCC 12 at -O3
        controllers.append(line, first + 1, second - first - 1).append(",");
        const bool v2 = controllers == ",,";
        if (!v2 && controllers.find(",cpu,") == std::string::npos) continue;
        const auto mount = root / (v2 ? "sys/fs/cgroup" : "sys/fs/cgroup/cpu");
        // In a container the path may be the host's; then only the mount itself is there.
        for (auto path = std::filesystem::path(line.substr(second + 1)).relative_path();; path = path.parent_path()) {
            const auto group = mount / path;
            if (v2) {
                const std::string max = first_line(group / "cpu.max");  // "200000 100000" or "max 100000"
                if (const auto space = max.find(' '); space != std::string::npos)
                    quota(number(max, 0), number(max.substr(space + 1), 0));
            } else {
                quota(number(first_line(group / "cpu.cfs_quota_us"), 0), number(first_line(group / "cpu.cfs_period_us"), 0));
            }
            if (path.empty()) break;
        }
    }
    return limit;
}

/// How many threads these logical processors deserve, by the files of the system under `root`.
inline int threads_for(const std::vector<int>& processors, const std::filesystem::path& root) {
    const auto cpu_folder = [&root](int cpu) { return root / "sys/devices/system/cpu" / ("cpu" + std::to_string(cpu)); };
    long fastest = 0;
    for (int cpu : processors) fastest = std::max(fastest, number(first_line(cpu_folder(cpu) / "cpu_capacity"), 0));
    std::set<std::pair<long, long>> cores;
    for (int cpu : processors) {
        // Slow cores of a hybrid processor would make the fast ones wait.
        if (number(first_line(cpu_folder(cpu) / "cpu_capacity"), fastest) < fastest) continue;
        const long core = number(first_line(cpu_folder(cpu) / "topology/core_id"), -1);
        const long package = number(first_line(cpu_folder(cpu) / "topology/physical_package_id"), -1);
        cores.insert(core < 0 ? std::pair{-1L, long{cpu}} : std::pair{package, core});
    }
    const double limit = std::min(double(cores.size()), std::floor(cgroup_limit(root)));
    return std::max(1, int(limit));
}

}  // namespace detail

/// The default number of threads: physical cores that the affinity mask allows (the fastest kind of a hybrid
/// processor), at most the processor time of the control group.
inline int default_threads() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    std::vector<int> processors;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0)
        for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
            if (CPU_ISSET(static_cast<unsigned>(cpu), &allowed)) processors.push_back(cpu);
    return detail::threads_for(processors, "/");
}

}  // namespace l3::inline v0::cpu
