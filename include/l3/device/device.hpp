#pragma once
#include "../core/config.hpp"
#include <concepts>

namespace l3::inline v0 {

/// The processor the program runs on. Its operations are in ops/cpu.
struct CPU { static constexpr const char* name = "cpu"; };
/// An NVIDIA GPU. Its operations are in ops/cuda.
struct CUDA { static constexpr const char* name = "cuda"; };

/// Where tensors live and operations run: CPU or CUDA.
template <class D>
concept Device = std::same_as<D, CPU> || std::same_as<D, CUDA>;

/// True once the headers of a device's operations have been included: <l3/l3.hpp> for CPU.
template <Device D> inline constexpr bool device_is_included = false;

/// Where the operations of one caller run: threads (or a stream) and scratch memory. One caller at a time.
/// device/cpu/context.hpp, device/cuda/context.cuh.
template <Device D> class Context {
    static_assert(device_is_included<D>, "no operations for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

/// Allocates the memory of tensors: zeroed elements, 64-byte aligned. device/cpu/memory.hpp, device/cuda/memory.cuh.
template <class T, Device D> class Buffer {
    static_assert(device_is_included<D>, "no memory for this device: include <l3/l3.hpp> for the CPU (there is no CUDA yet)");
};

}  // namespace l3::inline v0
