// Rows to the numbers of the entries that are nearest to them, by Euclid: what k-means and residual
// quantizers do. In f32: fewer bits would choose others. Const after construction, shared by
// threads. N rows, V entries of width D.
#pragma once

#include <span>

#include "kernels/linear.h"

namespace syrinx {

class NearestEntry {
 public:
  NearestEntry() = default;
  /// entries f32 [V, D].
  explicit NearestEntry(Tensor entries);

  int64_t count() const { return entries_.shape()[0]; }
  std::span<const float> entry(int64_t number) const {
    const int64_t width = entries_.shape()[1];
    return {entries_.f32() + number * width, static_cast<size_t>(width)};
  }
  /// x [N, D] -> numbers [N]; of equally near ones the first.
  void find(StepContext& ctx, const View& x, std::span<int32_t> numbers) const;
  size_t bytes() const { return entries_.bytes() + score_.bytes(); }

 private:
  Tensor entries_;
  PackedLinear score_;  // x . e - |e|^2 / 2 of each entry e: the nearest is largest
};

}  // namespace syrinx
