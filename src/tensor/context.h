// What a step of computation needs besides its operands: where to run and where to put scratch.
// Passed explicitly; there is no ambient context. One StepContext per executor, used by one thread.
#pragma once

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
/// they are queued on `stream` and take scratch from `arena`, which must be of that device.
struct StepContext {
  ThreadPool& pool;
  Arena& arena;
  Device device = Device::kCpu;
  Stream* stream = nullptr;  ///< null on the CPU
};

}  // namespace syrinx
