// Memory and streams of a GPU. Without the CUDA backend (-DSYRINX_CUDA=ON) no GPU is there: asking
// for its memory throws InternalError. No type of CUDA shows in this header.
// Threads: the free functions may be called from any; a Stream belongs to one.
#pragma once

#include <memory>
#include <string>

#include "tensor/tensor.h"

namespace syrinx {

/// Why a device cannot be used on this machine by this build; empty when it can.
std::string device_missing(Device device);

/// Zeroed memory of a device other than the CPU, aligned to 256 bytes.
void* device_allocate(Device device, size_t bytes);
void device_free(Device device, void* memory) noexcept;

/// Copies between views of equal size in bytes on any devices; waits until it is done.
void device_copy(const View& from, const View& to);

/// A copy of `from` on `device`.
Tensor copy_to(const View& from, Device device);

/// A queue of work on a device, in order. Results may be read on the host after synchronize().
class Stream {
 public:
  static std::unique_ptr<Stream> create(Device device);
  virtual ~Stream() = default;

  /// Queues a copy of host numbers; the host memory may change as soon as the call returns.
  virtual void upload(const void* host, void* device, size_t bytes) = 0;
  /// Queues a copy to the host; the numbers are there after synchronize().
  virtual void download(const void* device, void* host, size_t bytes) = 0;
  virtual void synchronize() = 0;
  /// cudaStream_t.
  virtual void* native() const = 0;

  /// What the kernels keep for a stream: library handles, counters.
  std::shared_ptr<void> kernel_state;
  /// Rows give the same bits in any batch. Off: products of many rows may take a library's path,
  /// whose order of sums depends on the number of rows (docs/decisions/0005-cuda-kernels.md).
  bool batch_invariant = true;
};

}  // namespace syrinx
