// Attention in which every row of a recording sees every other, a bounded piece of rows at a time:
// all rows are put in, then seen. CPU, f32. One recording at a time, one thread at a time.
// N rows, W width.
#pragma once

#include <vector>

#include "kernels/attention.h"
#include "kernels/linear.h"

namespace syrinx {

class RowAttention {
 public:
  /// `heads` must divide `width`.
  RowAttention(int64_t rows, int64_t width, int64_t heads);

  /// Queries, keys and values of rows [begin, begin + x rows): `qkv` of x [.., W].
  void put(StepContext& ctx, const PackedLinear& qkv, const View& x, int64_t begin);
  /// What rows [begin, begin + out rows) see of all, once all were put; out [.., W].
  void see(StepContext& ctx, int64_t begin, const View& out);

 private:
  int64_t rows_;
  int heads_;
  Tensor queries_;  // [N, W]
  KvPool kv_;
  std::vector<int32_t> pages_;
};

}  // namespace syrinx
