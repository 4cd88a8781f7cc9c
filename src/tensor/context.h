// The context of a step of computation: the device and the scratch memory. It is passed
// explicitly; no global context exists. Each executor and device has one StepContext, used by one
// thread.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Scratch memory for one step: bump allocation; reset() releases all of it together. At first it
/// grows (on the CPU, reset() merges the blocks); later it allocates nothing. On a GPU, released
/// memory may be reused immediately, because the work on one stream runs in order.
class Arena {
 public:
  explicit Arena(Device device = Device::kCpu) : device_(device) {}
  /// Returns uninitialised memory, aligned to 64 bytes and valid until reset() or until the
  /// enclosing Mark ends.
  View take(Shape shape, DType dtype);
  void reset();
  size_t capacity() const;

  /// At the end of its scope, releases the memory that was taken inside the scope.
  class Mark {
   public:
    explicit Mark(Arena& arena) : arena_(arena), block_(arena.block_), used_(arena.used_) {}
    ~Mark() { arena_.block_ = block_, arena_.used_ = used_; }
    Mark(const Mark&) = delete;
    Mark& operator=(const Mark&) = delete;

   private:
    Arena& arena_;
    size_t block_, used_;
  };

 private:
  Device device_;
  std::vector<Tensor> blocks_;
  size_t block_ = 0, used_ = 0;  // index of the current block, and bytes used in it
};

/// The context that every kernel call of an executor borrows. Kernels run on the device of their
/// operands. On a GPU they are queued on `stream`, and the host must not access memory of `arena`.
struct StepContext {
  /// Makes a context for the CPU, where one arena serves everything.
  StepContext(ThreadPool& threads, Arena& scratch) : pool(threads), arena(scratch), host(scratch) {}
  /// Makes a context for a GPU: `scratch` is on the GPU, `host_scratch` is on the CPU.
  StepContext(ThreadPool& threads, Arena& scratch, Arena& host_scratch, Stream& work)
      : pool(threads), arena(scratch), host(host_scratch), device(work.device()), stream(&work) {}

  ThreadPool& pool;
  Arena& arena;  ///< memory for the operands of kernels
  /// Memory for results of host code, such as ids and lists of jobs. On the CPU, this is `arena`.
  Arena& host;
  Device device = Device::kCpu;
  Stream* stream = nullptr;  ///< null on the CPU
};

/// Allocates memory for `count` plain objects in ctx.host.
template <typename T>
std::span<T> take_array(StepContext& ctx, int64_t count) {  // NOLINTNEXTLINE: T may be a pointer
  const View memory = ctx.host.take(Shape{count * static_cast<int64_t>(sizeof(T))}, DType::kU8);
  T* first = static_cast<T*>(memory.data);
  for (int64_t i = 0; i < count; ++i) new (first + i) T();
  return {first, static_cast<size_t>(count)};
}

/// Makes host numbers readable for kernels. On the CPU returns `host`, otherwise a copy in GPU
/// memory, which is valid until the end of the step.
View upload(StepContext& ctx, const View& host);
/// Copies host numbers to memory of the context's device.
void store(StepContext& ctx, std::span<const float> host, const View& to);
/// Copies results of kernels to host memory. On a GPU they are ready after synchronize(), on the
/// CPU immediately.
void fetch(StepContext& ctx, const View& from, std::span<float> host);
void fetch(StepContext& ctx, const View& from, std::span<int32_t> host);
/// Waits for all queued work; does nothing on the CPU.
void synchronize(StepContext& ctx);

/// The arenas and the stream of a device, for code that runs stages.
class Workspace {
 public:
  /// Throws InternalError if the device is missing.
  Workspace(ThreadPool& pool, Device device, StreamPriority priority = StreamPriority::kNormal);
  StepContext& context() { return ctx_; }
  /// Releases all scratch memory. Queued work that uses ctx.host must have ended.
  void reset();

 private:
  Arena arena_, host_;
  std::unique_ptr<Stream> stream_;
  StepContext ctx_;
};

}  // namespace syrinx
