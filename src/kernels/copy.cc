#include "kernels/copy.h"

#include <cstring>

#include "kernels/activation.h"
#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

constexpr int64_t kGrain = 1 << 16;  // numbers: less work is not worth waking a thread

}  // namespace

void copy_spans(StepContext& ctx, std::span<const CopySpan> spans) {
  if (ctx.device == Device::kCuda) return cuda::copy_spans(ctx, spans);
  for (const CopySpan& s : spans) {
    if (s.count == 0) continue;
    if (s.slope != 1) {
      leaky_relu(ctx, {const_cast<float*>(s.from), DType::kF32, {s.count}}, s.slope,
                 {s.to, DType::kF32, {s.count}});
      continue;
    }
    ctx.pool.parallel_for(s.count, kGrain, [&](int64_t begin, int64_t end) {
      const size_t bytes = static_cast<size_t>(end - begin) * sizeof(float);
      if (s.from == nullptr) {
        std::memset(s.to + begin, 0, bytes);
      } else {
        std::memcpy(s.to + begin, s.from + begin, bytes);
      }
    });
  }
}

void add_spans(StepContext& ctx, std::span<const CopySpan> spans) {
  if (ctx.device == Device::kCuda) return cuda::add_spans(ctx, spans);
  for (const CopySpan& s : spans) {
    add_inplace(ctx, {s.to, DType::kF32, {s.count}},
                {const_cast<float*>(s.from), DType::kF32, {s.count}});
  }
}

void copy(StepContext& ctx, const View& from, const View& to) {
  SYRINX_CHECK(from.count() == to.count(), "[copy] sizes differ: ", from.shape.str(), " and ",
               to.shape.str());
  const CopySpan all{from.f32(), to.f32(), from.count()};
  copy_spans(ctx, std::span(&all, 1));
}

void copy_columns(StepContext& ctx, const View& x, int64_t column, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 2 && out.shape.dims() == 2 && x.shape[0] == out.shape[0] &&
                   column >= 0 && column + x.shape[1] <= out.shape[1],
               "[copy_columns] ", x.shape.str(), " does not fit ", out.shape.str(), " at column ",
               column);
  if (x.device == Device::kCuda) return cuda::copy_columns(ctx, x, column, out);
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    std::memcpy(out.f32() + i * out.shape[1] + column, x.f32() + i * x.shape[1],
                static_cast<size_t>(x.shape[1]) * sizeof(float));
  }
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
