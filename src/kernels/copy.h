// Copies stretches of numbers between operands of one device, for chunks of streams.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// `count` numbers from `from` (null: zeros) to `to`; both lie where the context's kernels work.
struct CopySpan {
  const float* from = nullptr;
  float* to = nullptr;
  int64_t count = 0;
};

/// Copies all spans, in any order: no span may read or write numbers that another one writes.
void copy_spans(StepContext& ctx, std::span<const CopySpan> spans);
/// to = from, which have equally many numbers.
void copy(StepContext& ctx, const View& from, const View& to);

/// x[i, j] += y[i, j] * factors[i]. x, y [N, H]; factors [N]. (The products are rounded.)
void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors);

}  // namespace syrinx
