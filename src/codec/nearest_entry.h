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
  size_t bytes() const { return entries_.bytes() + score_.bytes(); }

 private:
  Tensor entries_;
  PackedLinear score_;  // x . e - |e|^2 / 2 for each entry e: largest for the e nearest to x
};

}  // namespace syrinx
