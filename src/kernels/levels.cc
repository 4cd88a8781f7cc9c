#include "kernels/levels.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"
#include "kernels/cuda/solver.h"

namespace syrinx {

void round_to_steps(StepContext& ctx, const View& x, float steps) {
  if (x.device == Device::kCuda) return cuda::round_to_steps(ctx, x, steps);
  for (int64_t i = 0; i < x.count(); ++i) x.f32()[i] = std::nearbyint(x.f32()[i] * steps) / steps;
}

void level_logits(StepContext& ctx, const View& x, int64_t column, int64_t first, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 2 && column >= 0 && column < x.shape[1], "[level_logits] column ",
               column, " of ", x.shape.str());
  SYRINX_CHECK(
      out.shape.dims() == 2 && out.shape[0] == x.shape[0] && first >= 0 && out.shape[1] > first + 1,
      "[level_logits] out ", out.shape.str(), " for ", x.shape[0], " rows, with levels from ",
      first);
  if (x.device == Device::kCuda) return cuda::level_logits(ctx, x, column, first, out);
  const int64_t width = out.shape[1];
  const auto half = static_cast<float>(width - first - 1) / 2;
  std::fill_n(out.f32(), out.count(), -std::numeric_limits<float>::infinity());
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    const float number = x.f32()[i * x.shape[1] + column];
    float* row = out.f32() + i * width + first;
    if (std::isnan(number)) {
      row[0] = number;
    } else {
      const float level = std::nearbyint((std::clamp(number, -1.f, 1.f) + 1) * half);
      row[static_cast<int64_t>(level)] = 0;
    }
  }
}

}  // namespace syrinx
