// Attention in which every row of a recording attends to all rows. It is computed for a limited
// number of rows at a time: first put() for all rows, then see(). CPU, f32. An object serves one
// recording at a time, on one thread at a time. N rows, W width.
#pragma once

#include <vector>

#include "kernels/attention.h"
#include "kernels/linear.h"

namespace syrinx {

class RowAttention {
 public:
  /// `width` must be a multiple of `heads`.
  RowAttention(int64_t rows, int64_t width, int64_t heads);

  /// Computes queries, keys and values for the rows of x [.., W] by applying `qkv`, and stores them
  /// as rows from `begin` on.
  void put(StepContext& ctx, const PackedLinear& qkv, const View& x, int64_t begin);
  /// Computes the attention of the rows from `begin` on over all rows, and writes it to out [..,
  /// W]. Call it after put() has stored all rows.
  void see(StepContext& ctx, int64_t begin, const View& out);

 private:
  int64_t rows_;
  int heads_;
  Tensor queries_;  // [N, W]
  KvPool kv_;
  std::vector<int32_t> pages_;
};

}  // namespace syrinx
