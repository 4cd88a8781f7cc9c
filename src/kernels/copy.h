// Copies numbers between operands on one device, for chunks of streams.
#pragma once

#include <span>

#include "tensor/context.h"

namespace syrinx {

/// A copy of `count` numbers from `from` to `to` on the context's device; null copies zeros.
struct CopySpan {
  const float* from = nullptr;
  float* to = nullptr;
  int64_t count = 0;
};

/// Copies all spans in any order: a span must not read or write numbers that another span writes.
void copy_spans(StepContext& ctx, std::span<const CopySpan> spans);
/// Copies `from` to `to`, which must have the same number of elements.
void copy(StepContext& ctx, const View& from, const View& to);

/// Computes x[i, j] += y[i, j] * factors[i]. x, y [N, H]; factors [N]. Each product is rounded
/// before it is added.
void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors);

}  // namespace syrinx
