#include "kernels/solver.h"

#include "kernels/copy.h"
#include "kernels/cuda/solver.h"

namespace syrinx {

void fill_zeros(StepContext& ctx, const View& x) {
  const CopySpan all{nullptr, x.f32(), x.count()};
  copy_spans(ctx, std::span(&all, 1));
}

void weighted_sum(StepContext& ctx, float a, const View& x, float b, const View& y,
                  const View& out) {
  expect_shape("weighted_sum", y, x.shape);
  expect_shape("weighted_sum", out, x.shape);
  if (x.device == Device::kCuda) return cuda::weighted_sum(ctx, a, x, b, y, out);
  const float *first = x.f32(), *second = y.f32();
  float* to = out.f32();
  for (int64_t i = 0; i < x.count(); ++i) to[i] = a * first[i] + b * second[i];
}

void guide_zero_star(StepContext& ctx, const View& c, const View& u, const View& scales) {
  expect_shape("guide_zero_star", u, c.shape);
  expect_shape("guide_zero_star", scales, {c.shape[0]});
  if (c.device == Device::kCuda) return cuda::guide_zero_star(ctx, c, u, scales);
  const int64_t width = c.shape[1];
  for (int64_t r = 0; r < c.shape[0]; ++r) {
    float* with = c.f32() + r * width;
    const float *without = u.f32() + r * width, scale = scales.f32()[r];
    if (scale == 1) continue;
    double dot = 0, power = 1e-8;
    for (int64_t i = 0; i < width; ++i) {
      dot += double{with[i]} * without[i];
      power += double{without[i]} * without[i];
    }
    const auto factor = static_cast<float>(dot / power);
    for (int64_t i = 0; i < width; ++i) {
      const float base = without[i] * factor;
      with[i] = base + scale * (with[i] - base);
    }
  }
}

}  // namespace syrinx
