#include "kernels/norm.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "kernels/cuda/kernels.h"
#include "kernels/norm_impl.h"

namespace syrinx {
namespace {

// Returns the smallest number of rows for which waking a thread is worth it.
int64_t grain(int64_t width) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(width, 1)); }

auto rms_row() { return cpu_features().simd() ? &simd::rms_norm_row : &ref::rms_norm_row; }

void check_rows(const char* caller, const View& x, const View& weight, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 2, "[", caller, "] x must be [N, H], got ", x.shape.str());
  SYRINX_CHECK(weight.empty() || weight.shape == Shape({x.shape[1]}), "[", caller, "] x ",
               x.shape.str(), " and weight ", weight.shape.str(), ": last sizes differ");
  expect_shape(caller, out, x.shape);
}

}  // namespace

void rms_norm(StepContext& ctx, const View& x, const View& weight, float eps, const View& out) {
  check_rows("rms_norm", x, weight, out);
  if (x.device == Device::kCuda) return cuda::rms_norm(ctx, x, {}, weight, eps, out);
  const int64_t width = x.shape[1];
  const float *in = x.f32(), *w = weight.f32();
  float* to = out.f32();
  const auto row = rms_row();
  ctx.pool.parallel_for(x.shape[0], grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(in + i * width, w, width, eps, to + i * width);
  });
}

void add_rms_norm(StepContext& ctx, const View& x, const View& delta, const View& weight, float eps,
                  const View& out) {
  check_rows("add_rms_norm", x, weight, out);
  expect_shape("add_rms_norm", delta, x.shape);
  if (x.device == Device::kCuda) return cuda::rms_norm(ctx, x, delta, weight, eps, out);
  const int64_t width = x.shape[1];
  float *in = x.f32(), *to = out.f32();
  const float *d = delta.f32(), *w = weight.f32();
  const auto row = rms_row();
  const auto plus = cpu_features().simd() ? &simd::add_row : &ref::add_row;
  ctx.pool.parallel_for(x.shape[0], grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      plus(in + i * width, d + i * width, width);
      row(in + i * width, w, width, eps, to + i * width);
    }
  });
}

void layer_norm(StepContext& ctx, const View& x, const View& weight, const View& bias, float eps,
                const View& out) {
  check_rows("layer_norm", x, weight, out);
  check_rows("layer_norm", x, bias, out);
  if (x.device == Device::kCuda) return cuda::layer_norm(ctx, x, weight, bias, eps, out);
  const int64_t width = x.shape[1];
  const float* in = x.f32();
  const float* w = weight.empty() ? nullptr : weight.f32();
  const float* b = bias.empty() ? nullptr : bias.f32();
  float* to = out.f32();
  const auto row = cpu_features().simd() ? &simd::layer_norm_row : &ref::layer_norm_row;
  ctx.pool.parallel_for(x.shape[0], grain(width), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) row(in + i * width, w, b, width, eps, to + i * width);
  });
}

void rms_norm_heads(StepContext& ctx, const HeadsView& x, const View& weight, float eps) {
  check_heads("rms_norm_heads", x);
  expect_shape("rms_norm_heads", weight, {x.dim});
  if (x.rows.device == Device::kCuda) return cuda::rms_norm_heads(ctx, x, weight, eps);
  const float* w = weight.f32();
  const auto row = rms_row();
  ctx.pool.parallel_for(x.count(), grain(int64_t{x.heads} * x.dim),
                        [&](int64_t begin, int64_t end) {
                          for (int64_t i = begin; i < end; ++i) {
                            for (int h = 0; h < x.heads; ++h) {
                              float* head = x.row(i) + int64_t{h} * x.dim;
                              row(head, w, x.dim, eps, head);
                            }
                          }
                        });
}

}  // namespace syrinx
