// Networks that run in another process are built here too, because their pipeline asks them for
// shapes, but their weights shall take no memory here.
#pragma once

#include <cstddef>
#include <map>

namespace syrinx {

/// While it lives, the memory of large tensors that this thread makes for the CPU goes back to the
/// system, each when the next one is made and all at its end; from then on they read as zeros, and
/// a computation with them yields nonsense. The innermost one decides. On one thread, ended in
/// reverse order.
class AbsentTensors {
 public:
  /// Not `absent`: tensors are kept.
  explicit AbsentTensors(bool absent);
  ~AbsentTensors();
  AbsentTensors(const AbsentTensors&) = delete;
  AbsentTensors& operator=(const AbsentTensors&) = delete;

  /// Whether what this thread makes now need not be filled.
  static bool here();

  // For Tensor:
  /// The one that lives on this thread, or null.
  static AbsentTensors* current();
  void made(void* memory, size_t bytes);
  void freed(void* memory);

 private:
  const bool absent_;
  AbsentTensors* const outer_;
  std::map<void*, size_t> made_;  // their bytes
  void* last_ = nullptr;          // may be gone
};

}  // namespace syrinx
