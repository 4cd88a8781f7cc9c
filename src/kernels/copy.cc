#include "kernels/copy.h"

#include <cstring>

#include "kernels/cuda/kernels.h"

namespace syrinx {

void copy_spans(StepContext& ctx, std::span<const CopySpan> spans) {
  if (ctx.device == Device::kCuda) return cuda::copy_spans(ctx, spans);
  for (const CopySpan& s : spans) {
    const size_t bytes = static_cast<size_t>(s.count) * sizeof(float);
    if (bytes == 0) continue;
    if (s.from == nullptr) {
      std::memset(s.to, 0, bytes);
    } else {
      std::memcpy(s.to, s.from, bytes);
    }
  }
}

void copy(StepContext& ctx, const View& from, const View& to) {
  SYRINX_CHECK(from.count() == to.count(), "[copy] sizes differ: ", from.shape.str(), " and ",
               to.shape.str());
  const CopySpan all{from.f32(), to.f32(), from.count()};
  copy_spans(ctx, std::span(&all, 1));
}

void add_rows_scaled(StepContext& ctx, const View& x, const View& y, const View& factors) {
  SYRINX_CHECK(x.shape.dims() == 2, "[add_rows_scaled] x must be [N, H], got ", x.shape.str());
  expect_shape("add_rows_scaled", y, x.shape);
  expect_shape("add_rows_scaled", factors, {x.shape[0]});
  if (x.device == Device::kCuda) return cuda::add_rows_scaled(ctx, x, y, factors);
  const int64_t width = x.shape[1];
  float* to = x.f32();
  const float *by = y.f32(), *n = factors.f32();
  ctx.pool.parallel_for(x.shape[0], 64, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      for (int64_t c = i * width; c < (i + 1) * width; ++c) to[c] += n[i] * by[c];
    }
  });
}

}  // namespace syrinx
