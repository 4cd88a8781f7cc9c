// Memory and streams of the emulated GPU: pages with guards around every piece. Where the processor has
// protection keys, a host thread that touches it outside of kernels and copies gets a fault.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>

#include "tensor/device.h"

namespace syrinx::gpu::emulated {

/// Lets this thread touch device memory while it lives. One thread at a time: kernels share the
/// emulated machine.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Does it at once, or in its place in what the stream records.
void run_on(Stream& stream, std::function<void()> work);

}  // namespace syrinx::gpu::emulated
