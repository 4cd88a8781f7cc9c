// Attention in which every row of a recording sees every other, computed for a bounded number of
// rows at a time: first put() for all rows, then see(). CPU, f32. An object serves one recording at
// a time, on one thread at a time. N rows, W width.
#pragma once

#include <vector>

#include "kernels/attention.h"
#include "kernels/linear.h"

namespace syrinx {

class RowAttention {
 public:
  /// `heads` must divide `width`.
  RowAttention(int64_t rows, int64_t width, int64_t heads);

  /// Computes and stores queries, keys and values of rows [begin, begin + x rows): applies `qkv` to
  /// x [.., W].
  void put(StepContext& ctx, const PackedLinear& qkv, const View& x, int64_t begin);
  /// Writes the attention of rows [begin, begin + out rows) over all rows to out [.., W], once
  /// put() has had all rows.
  void see(StepContext& ctx, int64_t begin, const View& out);

 private:
  int64_t rows_;
  int heads_;
  Tensor queries_;  // [N, W]
  KvPool kv_;
  std::vector<int32_t> pages_;
};

}  // namespace syrinx
