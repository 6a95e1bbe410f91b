#include "support/paths.hpp"
#include <doctest/doctest.h>
#include <fstream>
#include <l3/device/cpu/default_threads.hpp>
#include <thread>

using namespace l3;

namespace {

struct Machine : support::TemporaryFolder {
    void write(const std::string& name, const std::string& text) const {
        const auto file = path() / name;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text << '\n';
    }
    void core(int cpu, int package, int core) const {
        const std::string folder = "sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/";
        write(folder + "physical_package_id", std::to_string(package));
        write(folder + "core_id", std::to_string(core));
    }
    [[nodiscard]] int threads(const std::vector<int>& processors) const { return cpu::detail::threads_for(processors, path()); }
};

}  // namespace

TEST_CASE("acceptance G01: physical cores of the affinity mask") {
    const Machine machine;
    for (int cpu = 0; cpu < 8; ++cpu) machine.core(cpu, 0, cpu % 4);  // four cores of two threads each
    CHECK(machine.threads({0, 1, 2, 3, 4, 5, 6, 7}) == 4);
    CHECK(machine.threads({0, 4}) == 1);
    CHECK(machine.threads({1, 2, 6}) == 2);
    machine.core(8, 1, 0);  // the same core number in another package
    CHECK(machine.threads({0, 8}) == 2);
    CHECK(Machine().threads({0, 1, 2}) == 3);  // a system that does not say
    CHECK(Machine().threads({}) == 1);
}

TEST_CASE("acceptance G02: the quota of the control group, in both versions") {
    const Machine v2;
    v2.write("proc/self/cgroup", "0::/jobs/mine");
    v2.write("sys/fs/cgroup/jobs/cpu.max", "200000 100000");
    v2.write("sys/fs/cgroup/jobs/mine/cpu.max", "max 100000");
    CHECK(v2.threads({0, 1, 2, 3}) == 2);
    v2.write("sys/fs/cgroup/jobs/mine/cpu.max", "50000 100000");
    CHECK(v2.threads({0, 1, 2, 3}) == 1);

    const Machine v1;
    v1.write("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/box");
    v1.write("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1");
    v1.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "300000");
    v1.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000");
    CHECK(v1.threads({0, 1, 2, 3}) == 3);

    const Machine container;  // the path is the host's; only the mount is there
    container.write("proc/self/cgroup", "0::/docker/123");
    container.write("sys/fs/cgroup/cpu.max", "150000 100000");
    CHECK(container.threads({0, 1, 2, 3}) == 1);
}

TEST_CASE("acceptance G01: the fast cores of a hybrid processor") {
    const Machine machine;
    for (int cpu = 0; cpu < 6; ++cpu) {
        machine.core(cpu, 0, cpu);
        machine.write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/cpu_capacity", cpu < 2 ? "1024" : "400");
    }
    CHECK(machine.threads({0, 1, 2, 3, 4, 5}) == 2);
    CHECK(machine.threads({2, 3}) == 2);
}

TEST_CASE("default_threads: at least one, at most the processors of this machine") {
    CHECK(cpu::default_threads() >= 1);
    CHECK(cpu::default_threads() <= int(std::max(1u, std::thread::hardware_concurrency())));
}
