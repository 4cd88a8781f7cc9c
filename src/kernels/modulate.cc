#include "kernels/modulate.h"

#include "base/check.h"
#include "kernels/cuda/solver.h"

namespace syrinx {

void modulate(StepContext& ctx, const View& x, const View& by) {
  SYRINX_CHECK(x.shape.dims() == 2 && by.shape.dims() == 2 && by.shape[0] == x.shape[0] &&
                   by.shape[1] >= 2 * x.shape[1],
               "[modulate] x ", x.shape.str(), " by ", by.shape.str());
  if (x.device == Device::kCuda) return cuda::modulate(ctx, x, by);
  const int64_t width = x.shape[1], stride = by.shape[1];
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    float* row = x.f32() + r * width;
    const float *shift = by.f32() + r * stride, *scale = shift + width;
    for (int64_t i = 0; i < width; ++i) row[i] = row[i] * (1 + scale[i]) + shift[i];
  }
}

void add_gated(StepContext& ctx, const View& x, const View& y, const View& by) {
  const int64_t rows = x.shape[0], width = x.shape[1];
  expect_shape("add_gated", y, x.shape);
  expect_shape("add_gated", by, {rows, 3 * width});
  if (x.device == Device::kCuda) return cuda::add_gated(ctx, x, y, by);
  for (int64_t r = 0; r < rows; ++r) {
    float* row = x.f32() + r * width;
    const float *gate = by.f32() + (3 * r + 2) * width, *from = y.f32() + r * width;
    for (int64_t i = 0; i < width; ++i) row[i] += gate[i] * from[i];
  }
}

}  // namespace syrinx
