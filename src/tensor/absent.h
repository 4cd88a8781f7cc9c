// Networks that run in another process are also built in this process, because their pipeline reads
// shapes from them. AbsentTensors releases the memory of their weights.
#pragma once

#include <cstddef>
#include <map>

namespace syrinx {

/// While this object exists, the memory of large CPU tensors that this thread makes is released to
/// the system: each tensor's memory when the next tensor is made, and all memory at the end. These
/// tensors then read as zeros, so computations with them are meaningless. Only the innermost object
/// of a thread applies. Objects are used on one thread and destroyed in reverse order.
class AbsentTensors {
 public:
  /// If `absent` is false, the tensors keep their memory.
  explicit AbsentTensors(bool absent);
  ~AbsentTensors();
  AbsentTensors(const AbsentTensors&) = delete;
  AbsentTensors& operator=(const AbsentTensors&) = delete;

  /// Returns whether the tensors that this thread makes now need not be filled.
  static bool here();

  // Used by Tensor only.
  /// Returns the innermost object of this thread, or null.
  static AbsentTensors* current();
  void made(void* memory, size_t bytes);
  void freed(void* memory);

 private:
  const bool absent_;
  AbsentTensors* const outer_;
  std::map<void*, size_t> made_;  // size in bytes of each allocation
  void* last_ = nullptr;          // the newest tensor; it may have been freed
};

}  // namespace syrinx
