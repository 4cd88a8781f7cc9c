// Memory and streams of the emulated GPU: pages with guards around every piece. If the processor
// has protection keys, a host thread that accesses this memory outside of kernels and copies gets a
// fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>

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

/// Runs a kernel at once, or adds it to the stream's recording.
void run_on(Stream& stream, const char* name, std::function<void()> kernel);

/// Makes the GPU a null device from now on: it counts kernels and copies and does not run them, so
/// that a program's time is the host's. Downloads write zeros. One thread may use it.
void drop_work();

/// The work that a null device got.
struct Dropped {
  std::map<std::string_view, uint64_t> launches;  ///< kernels by name, those of recordings left out
  uint64_t played = 0;                            ///< kernels of recordings that were played
  uint64_t plays = 0;                             ///< recordings that were played
  uint64_t uploads = 0, uploaded_bytes = 0;
};
const Dropped& dropped();

}  // namespace syrinx::gpu::emulated
