// How much of a checkpoint a thread has taken while it builds a model. The code that loads a model
// opens a TakenBytes; layers and families only take their weights and know nothing of it.
#pragma once

#include <cstdint>
#include <functional>

namespace syrinx {

/// While it lives, `taken` gets the bytes of each tensor that Weights give this thread for the
/// first time, before the tensor is converted or packed. The innermost object of a thread counts;
/// objects end in the reverse order of their beginnings.
class TakenBytes {
 public:
  explicit TakenBytes(std::function<void(int64_t bytes)> taken);
  ~TakenBytes();
  TakenBytes(const TakenBytes&) = delete;
  TakenBytes& operator=(const TakenBytes&) = delete;

  /// Reports to this thread's object, if it has one.
  static void add(int64_t bytes);

 private:
  std::function<void(int64_t)> taken_;
  TakenBytes* const outer_;
};

}  // namespace syrinx
