// Memory and streams of the emulated GPU. Every allocation has guard pages around it. If the
// processor has protection keys, a host thread that accesses this memory outside of kernels and
// copies causes a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>

#include "tensor/device.h"

namespace syrinx::gpu::emulated {

/// While an object exists, its thread may access device memory. Only one thread at a time may have
/// one, because kernels share the emulated machine. The constructor runs a kernel that was held
/// back, unless `to_launch`.
class DeviceAccess {
 public:
  explicit DeviceAccess(bool to_launch = false);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Runs a kernel immediately, or appends it to the stream's recording.
void run_on(Stream& stream, const char* name, std::function<void()> kernel);

/// Runs the kernels that run() holds back; the caller has a DeviceAccess.
void run_held();

/// Makes the GPU a null device: kernels and copies are counted but not run, so that a program's
/// time is the host's time. Downloads write zeros. Only one thread may use the null device.
void drop_work();

/// The work that the null device counted.
struct Dropped {
  std::map<std::string_view, uint64_t> launches;  ///< kernels by name, without those of recordings
  uint64_t played = 0;                            ///< kernels in recordings that were played
  uint64_t plays = 0;                             ///< number of recordings played
  uint64_t uploads = 0, uploaded_bytes = 0;
};
const Dropped& dropped();

}  // namespace syrinx::gpu::emulated
