// Memory and streams of the emulated GPUs. There are SYRINX_EMULATED_GPUS of them, by default 2.
// They are unlike: the last one has the limits of an H100, the others those of an older chip.
// Every allocation has guard pages around it. A kernel or a copy that accesses memory of another
// GPU ends the program. If the processor has protection keys, a host thread that accesses memory of
// a GPU outside of kernels and copies causes a fault.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "tensor/device.h"

namespace syrinx::gpu::emulated {

constexpr int kAllGpus = -1;
// Bytes of shared memory that a block may have: of an H100, of sm_86 and sm_89.
constexpr int kMostShared = 227 << 10, kOlderShared = 99 << 10;

/// While an object exists, its thread may access memory of one GPU, or of all. Only one thread at a
/// time may have one, because kernels share the emulated machine. The constructor runs kernels that
/// were held back, unless `to_launch` another kernel of the same GPU.
class DeviceAccess {
 public:
  explicit DeviceAccess(int gpu = kAllGpus, bool to_launch = false);
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Runs a kernel immediately, or appends it to the stream's recording. The stream's GPU must be the
/// current one of the thread. `weights`: bytes of weights_at() of its arguments.
void run_on(Stream& stream, const char* name, std::function<void()> kernel, uint64_t weights = 0);

/// Whether the GPUs keep the memory of small tensors for later ones, like real GPUs. Otherwise they
/// detect accesses to tensors that no longer exist.
inline bool keeps_pieces = false;
/// Sets the memory of a GPU, in bytes; at first 80 GiB.
void set_memory(Device gpu, size_t bytes);
/// Returns the priority of a stream as CUDA counts it: a lower number goes first.
int priority_of(const Stream& stream);
/// Returns the names of all kernels that ran so far on streams of a priority.
std::set<std::string> kernels_at(int priority);

/// Runs the kernels that run() holds back; the caller has a DeviceAccess.
void run_held();

/// Makes the GPU a null device: kernels and copies are counted but not run, so that a program's
/// time is the host's time. Downloads write zeros. Only one thread may use the null device.
void drop_work();
/// Makes all memory that GPUs have now the weights of a model, for weights_at().
void count_weights();
/// Returns the bytes of the weights that begin at pointers in an argument of a kernel. Returns 0
/// without a null device.
uint64_t weights_at(const void* argument, size_t bytes);

/// The work that the null device counted.
struct Dropped {
  std::map<std::string_view, uint64_t> launches;  ///< kernels by name, without those of recordings
  uint64_t played = 0;                            ///< kernels in recordings that were played
  uint64_t plays = 0;                             ///< number of recordings played
  uint64_t uploads = 0, uploaded_bytes = 0;
  std::map<std::string_view, uint64_t> weights;  ///< bytes that played kernels got, by their names
};
const Dropped& dropped();

}  // namespace syrinx::gpu::emulated
