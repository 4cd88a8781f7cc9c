#include "kernels/guidance.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/cuda/kernels.h"

namespace syrinx {

void merge_guidance(StepContext& ctx, View logits, std::span<const GuidedRow> rows) {
  const int64_t width = logits.shape[1];
  for (size_t i = 0; i < rows.size(); ++i) {
    const int64_t last = rows[i].row + (rows[i].guided ? 1 : 0);
    SYRINX_CHECK(rows[i].row >= static_cast<int>(i) && last < logits.shape[0],
                 "[merge_guidance] invalid row ", last, " of ", logits.shape[0], " rows");
  }
  if (logits.device == Device::kCuda) return cuda::merge_guidance(ctx, logits, rows);
  float* data = logits.f32();
  // Columns are independent, and a row is written only after the rows that it depends on were read.
  ctx.pool.parallel_for(width, 4096, [&](int64_t begin, int64_t end) {
    for (size_t i = 0; i < rows.size(); ++i) {
      float* out = data + static_cast<int64_t>(i) * width;
      const float* with = data + rows[i].row * width;
      if (rows[i].guided && rows[i].scale != 1) {
        const float* without = with + width;
        const float scale = rows[i].scale;
        for (int64_t v = begin; v < end; ++v) {
          out[v] = without[v] + scale * (with[v] - without[v]);
        }
      } else if (out != with) {
        std::copy(with + begin, with + end, out + begin);
      }
    }
  });
}

}  // namespace syrinx
