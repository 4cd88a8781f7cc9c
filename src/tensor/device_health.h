// Whether the process can still use its GPU. After a fault of a kernel, such as an illegal address,
// all further work on the GPU fails, and only a new process can use it. Call from any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "tensor/tensor.h"

namespace syrinx {

/// Records that the GPU is lost, and the reason. Later calls have no effect.
void report_lost_device(const std::string& why);
/// Returns why the GPU is lost. Returns "" if it is not lost.
std::string lost_device();
/// Sets the function to be called once when the GPU is lost, on the thread that detects the loss.
/// Calls it immediately if the GPU is already lost. Replaces an earlier function.
void when_device_is_lost(std::function<void(const std::string& why)> call);
/// The memory of a GPU in bytes; 0 if unknown.
struct MemoryOfGpu {
  Device device;
  size_t free = 0, total = 0;
};
/// Returns the message for a refused allocation of `wanted` bytes on one of a machine's GPUs: the
/// sizes, what other GPUs have free, and the options that reduce memory.
std::string gpu_memory_text(size_t wanted, Device device, std::span<const MemoryOfGpu> gpus);
/// Resets all of this state, for tests.
void forget_lost_device();

}  // namespace syrinx
