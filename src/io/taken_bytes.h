// Counts the bytes of a checkpoint that a thread takes while it builds a model. The code that
// loads a model creates a TakenBytes. Weights reports to it, so layers and families need not know
// it.
#pragma once

#include <cstdint>
#include <functional>

namespace syrinx {

/// Calls `taken` with the bytes of each tensor that this thread takes from Weights for the first
/// time, before the tensor is converted or packed. Only the innermost object of a thread receives
/// calls. Objects are destroyed in reverse order of construction.
class TakenBytes {
 public:
  explicit TakenBytes(std::function<void(int64_t bytes)> taken);
  ~TakenBytes();
  TakenBytes(const TakenBytes&) = delete;
  TakenBytes& operator=(const TakenBytes&) = delete;

  /// Adds to this thread's innermost object, if it has one.
  static void add(int64_t bytes);

 private:
  std::function<void(int64_t)> taken_;
  TakenBytes* const outer_;
};

}  // namespace syrinx
