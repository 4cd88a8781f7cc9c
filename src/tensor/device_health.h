// Whether the process can still use its GPU. After a fault of a kernel, such as an illegal address,
// all further work on the GPU fails, and only a new process can use it again. Any thread.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace syrinx {

/// Records that the GPU is lost and why; only the first call counts.
void report_lost_device(const std::string& why);
/// Returns why the GPU is lost; empty: it is not.
std::string lost_device();
/// Has `call` called once when the GPU is lost, on the thread that finds it; at once if it is lost
/// already. Replaces an earlier `call`.
void when_device_is_lost(std::function<void(const std::string& why)> call);
/// Returns the message for an allocation of `wanted` bytes that a GPU with `free` of `total` bytes
/// refused: the sizes, and the options that need less.
std::string gpu_memory_text(size_t wanted, size_t free, size_t total);
/// Forgets all of this, between tests.
void forget_lost_device();

}  // namespace syrinx
