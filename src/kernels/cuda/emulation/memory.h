// Memory and streams of the emulated GPU: pages with guards around every piece. If the processor
// has protection keys, a host thread that accesses this memory outside of kernels and copies gets a
// fault.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

#include "tensor/device.h"

namespace syrinx::gpu::emulated {

/// Lets this thread access device memory while it exists. One thread at a time, as kernels share
/// the emulated machine.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Runs `work` at once, or adds it to the stream's recording.
void run_on(Stream& stream, std::function<void()> work);

}  // namespace syrinx::gpu::emulated
