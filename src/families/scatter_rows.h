// Copies rows to given places, the inverse of gather_rows(). Header only.
#pragma once

#include <cstdint>
#include <span>

#include "kernels/copy.h"
#include "nn/stream_pass.h"

namespace syrinx {

/// Copies row i of `from` [N, H] to row rows[i] of `to`.
inline void scatter_rows(StepContext& ctx, const View& from, std::span<const int32_t> rows,
                         const View& to) {
  const Arena::Mark host_mark(ctx.host);
  const int64_t width = to.shape[1];
  const std::span<CopySpan> spans = take_array<CopySpan>(ctx, std::ssize(rows));
  for (size_t i = 0; i < rows.size(); ++i) {
    spans[i] = {from.f32() + static_cast<int64_t>(i) * width, to.f32() + rows[i] * width, width};
  }
  copy_spans(ctx, spans);
}

}  // namespace syrinx
