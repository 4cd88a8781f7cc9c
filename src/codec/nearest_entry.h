// Finds the index of the nearest entry for each row, by Euclidean distance, as in k-means and
// residual quantizers. Computes in f32, because fewer bits would select other entries. Const after
// construction, shared by threads. N rows, V entries of width D.
#pragma once

#include <span>

#include "kernels/linear.h"

namespace syrinx {

class NearestEntry {
 public:
  NearestEntry() = default;
  /// `entries` are f32 [V, D].
  explicit NearestEntry(Tensor entries);

  int64_t count() const { return entries_.shape()[0]; }
  std::span<const float> entry(int64_t number) const {
    const int64_t width = entries_.shape()[1];
    return {entries_.f32() + number * width, static_cast<size_t>(width)};
  }
  /// Writes the index of the entry nearest to each row: x [N, D] -> numbers [N]. If several entries
  /// are equally near, the first one is used.
  void find(StepContext& ctx, const View& x, std::span<int32_t> numbers) const;
  /// Writes the index of the entry nearest to each row x [N, D] to column `column` of codes [N, Q]
  /// i32, and subtracts the entry from the row, all on device().
  void subtract(StepContext& ctx, const View& x, const View& codes, int64_t column) const;
  /// Moves the entries to a GPU, where find() and entry() are not possible.
  void move_to(Device device);
  Device device() const { return entries_.device(); }
  size_t bytes() const { return entries_.bytes() + score_.bytes(); }

 private:
  Tensor entries_;
  PackedLinear score_;  // x . e - |e|^2 / 2 for each entry e: largest for the e nearest to x
};

}  // namespace syrinx
