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
  float slope = 1;  ///< slope of a leaky ReLU of the copied numbers, in (0, 1]; 1: equal bits
};

/// Copies all spans in any order: a span must not read or write numbers that another span writes.
void copy_spans(StepContext& ctx, std::span<const CopySpan> spans);
/// Adds `from` to `to` in all spans, in any order. No span may have null or a slope.
void add_spans(StepContext& ctx, std::span<const CopySpan> spans);
/// Copies `from` to `to`, which must have the same number of elements.
void copy(StepContext& ctx, const View& from, const View& to);

/// Copies x [N, C] to columns [column, column + C) of out [N, W].
void copy_columns(StepContext& ctx, const View& x, int64_t column, const View& out);

/// Computes x[i, j] += y[i, j] * factors[i]. x, y [N, H]; factors [N]. Each product is rounded
/// before it is added.
void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors);

}  // namespace syrinx
