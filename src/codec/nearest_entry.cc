#include "codec/nearest_entry.h"

#include <algorithm>

#include "base/check.h"
#include "kernels/nearest.h"
#include "nn/layers.h"
#include "nn/stream_pass.h"

namespace syrinx {

NearestEntry::NearestEntry(Tensor entries) : entries_(std::move(entries)) {
  const int64_t count = entries_.shape()[0], width = entries_.shape()[1];
  Tensor bias({count}, DType::kF32);
  for (int64_t v = 0; v < count; ++v) {
    double power = 0;
    for (const float x : entry(v)) power += double{x} * x;
    bias.f32()[v] = static_cast<float>(-power / 2);
  }
  SYRINX_CHECK(count > 0 && width > 0, "invalid table of ", count, " entries of ", width);
  score_ = PackedLinear::pack(entries_, WeightType::kF32, bias);
}

void NearestEntry::find(StepContext& ctx, const View& x, std::span<int32_t> numbers) const {
  const Arena::Mark mark(ctx.arena);
  const View scores = take_rows(ctx, x.shape[0], count());
  linear(ctx, score_, x, scores);
  for (int64_t t = 0; t < x.shape[0]; ++t) {
    const float* row = scores.f32() + t * count();
    numbers[static_cast<size_t>(t)] =
        static_cast<int32_t>(std::max_element(row, row + count()) - row);
  }
}

void NearestEntry::subtract(StepContext& ctx, const View& x, const View& codes,
                            int64_t column) const {
  const Arena::Mark mark(ctx.arena);
  const View scores = take_rows(ctx, x.shape[0], count());
  linear(ctx, score_, x, scores);
  subtract_largest(ctx, scores, entries_, x, codes, column);
}

void NearestEntry::move_to(Device device) { syrinx::move_to(device, entries_, score_); }

}  // namespace syrinx
