// Rows of several streams in one matrix, for layers whose streams get different numbers of rows in
// one call.
#pragma once

#include <span>

#include "nn/conv.h"

namespace syrinx {

/// The rows of streams, one stream after another. The numbers are in ctx.host.
struct RowStack {
  View x;                         ///< [sum of `rows`, C]
  std::span<const int64_t> rows;  ///< number of rows of each stream
};

/// Returns the rows of each stream, in ctx.host.
inline std::span<View> views_of(StepContext& ctx, const RowStack& stack) {
  const std::span<View> views = take_array<View>(ctx, std::ssize(stack.rows));
  int64_t begin = 0;
  for (size_t i = 0; i < views.size(); ++i) {
    views[i] = stack.x.slice(begin, begin + stack.rows[i]);
    begin += stack.rows[i];
  }
  return views;
}

/// Runs a convolution on the jobs, one per stream, and makes their outputs in the arena: all output
/// rows that no later input can change.
template <typename Conv>
RowStack convolve_stack(StepContext& ctx, const Conv& conv, std::span<ConvJob> jobs) {
  const std::span<int64_t> rows = take_array<int64_t>(ctx, std::ssize(jobs));
  int64_t total = 0;
  for (size_t i = 0; i < jobs.size(); ++i)
    total += rows[i] = conv.rows(*jobs[i].state, jobs[i].x.shape[0], jobs[i].last);
  const RowStack out{ctx.arena.take({total, conv.out()}, DType::kF32), rows};
  const std::span<View> views = views_of(ctx, out);
  for (size_t i = 0; i < jobs.size(); ++i) jobs[i].out = views[i];
  conv.run(ctx, jobs);
  return out;
}

}  // namespace syrinx
