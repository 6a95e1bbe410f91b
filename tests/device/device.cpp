#include <doctest/doctest.h>
#include <l3/device/cpu/context.hpp>
#include <l3/device/device.hpp>
#include <string>

using namespace l3;

TEST_CASE("device: CPU and CUDA are devices, and only the one whose headers are there can be used") {
    static_assert(Device<CPU> && Device<CUDA> && !Device<int>);
    static_assert(device_is_included<CPU> && !device_is_included<CUDA>);
    CHECK(std::string(CPU::name) == "cpu");
    CHECK(std::string(CUDA::name) == "cuda");
}
