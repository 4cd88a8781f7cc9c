// What a step of computation needs besides its operands: where to run and where to put scratch.
// Passed explicitly; there is no ambient context. One StepContext per executor and device, used by
// one thread.
#pragma once

#include <memory>
#include <new>
#include <span>
#include <vector>

#include "base/thread_pool.h"
#include "tensor/device.h"
#include "tensor/tensor.h"

namespace syrinx {

/// Scratch memory for one step: bump allocation, all given back at once by reset().
/// Grows while it warms up (blocks are kept and merged at reset), then never allocates again.
/// On a GPU the memory given back may be taken again at once: work on one stream runs in order.
class Arena {
 public:
  explicit Arena(Device device = Device::kCpu) : device_(device) {}
  /// Uninitialised memory, 64-byte aligned, valid until reset() or until the enclosing Mark ends.
  View take(Shape shape, DType dtype);
  void reset();
  size_t capacity() const;

  /// Gives back, at the end of a scope, what was taken inside it.
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
  size_t block_ = 0, used_ = 0;  // the block in use and the bytes used of it
};

/// Borrowed by every kernel call of one executor. Kernels run where their operands lie; on a GPU
/// they are queued on `stream`, and memory of `arena` must not be touched from the host.
struct StepContext {
  /// On the CPU, where one arena is for everything.
  StepContext(ThreadPool& threads, Arena& scratch) : pool(threads), arena(scratch), host(scratch) {}
  /// On a GPU: `scratch` lies there, `host_scratch` on the CPU.
  StepContext(ThreadPool& threads, Arena& scratch, Arena& host_scratch, Stream& work)
      : pool(threads), arena(scratch), host(host_scratch), device(Device::kCuda), stream(&work) {}

  ThreadPool& pool;
  Arena& arena;  ///< what kernels work on
  Arena& host;   ///< what code computes on the host: ids, lists of jobs. On the CPU: `arena`.
  Device device = Device::kCpu;
  Stream* stream = nullptr;  ///< null on the CPU
};

/// Room for `count` plain objects in ctx.host.
template <typename T>
std::span<T> take_array(StepContext& ctx, int64_t count) {
  const View memory = ctx.host.take(Shape{count * static_cast<int64_t>(sizeof(T))}, DType::kU8);
  T* first = static_cast<T*>(memory.data);
  for (int64_t i = 0; i < count; ++i) new (first + i) T();
  return {first, static_cast<size_t>(count)};
}

/// Host numbers where kernels can read them: `host` itself on the CPU, else a copy in ctx.arena.
View upload(StepContext& ctx, const View& host);
/// Host numbers into memory of the context's device.
void store(StepContext& ctx, std::span<const float> host, const View& to);
/// What kernels wrote, into host memory, where it is after synchronize(). On the CPU at once.
void fetch(StepContext& ctx, const View& from, std::span<float> host);
void fetch(StepContext& ctx, const View& from, std::span<int32_t> host);
/// Waits for all that was queued; nothing on the CPU.
void synchronize(StepContext& ctx);

/// A device's arenas and stream, for code that runs stages.
class Workspace {
 public:
  /// Throws InternalError where the device is missing.
  Workspace(ThreadPool& pool, Device device);
  StepContext& context() { return ctx_; }
  /// Gives back all scratch. Nothing may be queued that still uses ctx.host.
  void reset();

 private:
  Arena arena_, host_;
  std::unique_ptr<Stream> stream_;
  StepContext ctx_;
};

}  // namespace syrinx
