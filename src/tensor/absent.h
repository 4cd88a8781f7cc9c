// Networks that run in another process are also built here, because their pipeline reads shapes
// from them; AbsentTensors releases the memory of their weights.
#pragma once

#include <cstddef>
#include <map>

namespace syrinx {

/// While this object exists, memory of large CPU tensors that this thread makes is released to the
/// system: each tensor's memory when the next one is made, and all at the end. Such tensors then
/// read as zeros, and computations with them have no meaning. Only the innermost object of a thread
/// applies. Objects are used on one thread and destroyed in reverse order.
class AbsentTensors {
 public:
  /// `absent` false: the tensors are kept.
  explicit AbsentTensors(bool absent);
  ~AbsentTensors();
  AbsentTensors(const AbsentTensors&) = delete;
  AbsentTensors& operator=(const AbsentTensors&) = delete;

  /// Returns whether tensors that this thread makes now may stay unfilled.
  static bool here();

  // Used by Tensor.
  /// Returns the innermost object of this thread, or null.
  static AbsentTensors* current();
  void made(void* memory, size_t bytes);
  void freed(void* memory);

 private:
  const bool absent_;
  AbsentTensors* const outer_;
  std::map<void*, size_t> made_;  // sizes in bytes
  void* last_ = nullptr;          // the latest tensor; it may have been freed
};

}  // namespace syrinx
