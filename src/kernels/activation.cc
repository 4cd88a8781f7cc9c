#include "kernels/activation.h"

#include <algorithm>

#include "base/cpu_features.h"
#include "kernels/activation_impl.h"
#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

constexpr int64_t kGrain = 16384;  // elements: less work is not worth waking a thread

template <typename F>
void over(StepContext& ctx, int64_t count, F f) {
  ctx.pool.parallel_for(count, kGrain, [&](int64_t begin, int64_t end) { f(begin, end - begin); });
}

/// Calls f(row) for rows of `width` elements.
template <typename F>
void over_rows(StepContext& ctx, int64_t rows, int64_t width, F f) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(width, 1));
  ctx.pool.parallel_for(rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) f(i);
  });
}

}  // namespace

void activate(StepContext& ctx, Activation f, const View& x, const View& out) {
  expect_shape("activate", out, x.shape);
  if (x.device == Device::kCuda) return cuda::activate(ctx, f, x, out);
  const float* in = x.f32();
  float* to = out.f32();
  const auto loop = cpu_features().simd() ? &simd::activate : &ref::activate;
  over(ctx, x.count(), [&](int64_t i, int64_t n) { loop(f, in + i, to + i, n); });
}

namespace {

using GateLoop = void (*)(const float* gate, const float* up, float* out, int64_t count);

void check_gate(const char* who, const View& x, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 2 && x.shape[1] % 2 == 0, "[", who, "] x must be [N, 2F], got ",
               x.shape.str());
  expect_shape(who, out, {x.shape[0], x.shape[1] / 2});
}

/// Calls `loop` with the two halves of each row of x.
void gate(StepContext& ctx, GateLoop loop, const View& x, const View& out) {
  const int64_t width = x.shape[1] / 2;
  const float* in = x.f32();
  float* to = out.f32();
  over_rows(ctx, x.shape[0], width, [&](int64_t i) {
    loop(in + 2 * i * width, in + (2 * i + 1) * width, to + i * width, width);
  });
}

}  // namespace

void silu_mul(StepContext& ctx, const View& x, const View& out) {
  check_gate("silu_mul", x, out);
  if (x.device == Device::kCuda) return cuda::silu_mul(ctx, x, out);
  gate(ctx, cpu_features().simd() ? &simd::silu_mul : &ref::silu_mul, x, out);
}

void gelu_tanh_mul(StepContext& ctx, const View& x, const View& out) {
  check_gate("gelu_tanh_mul", x, out);
  if (x.device == Device::kCuda) return cuda::gelu_tanh_mul(ctx, x, out);
  gate(ctx, cpu_features().simd() ? &simd::gelu_tanh_mul : &ref::gelu_tanh_mul, x, out);
}

void tanh_sigmoid_mul(StepContext& ctx, const View& x, const View& out) {
  check_gate("tanh_sigmoid_mul", x, out);
  if (x.device == Device::kCuda) return cuda::tanh_sigmoid_mul(ctx, x, out);
  constexpr int64_t kPiece = 256;
  const auto loop = cpu_features().simd() ? &simd::activate : &ref::activate;
  const auto piece = [loop](const float* a, const float* b, float* to, int64_t count) {
    float open[kPiece];
    loop(Activation::kTanh, a, to, count);
    loop(Activation::kSigmoid, b, open, count);
    for (int64_t i = 0; i < count; ++i) to[i] *= open[i];
  };
  const int64_t width = out.shape[1];
  const float* in = x.f32();
  float* to = out.f32();
  over_rows(ctx, x.shape[0], width, [&](int64_t row) {
    const float* from = in + 2 * row * width;
    for (int64_t i = 0; i < width; i += kPiece) {
      piece(from + i, from + width + i, to + row * width + i, std::min(kPiece, width - i));
    }
  });
}

void snake(StepContext& ctx, const View& x, const View& alpha, const View& inv_beta,
           ChannelAxis axis, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 2, "[snake] x must have two dimensions, got ", x.shape.str());
  expect_shape("snake", out, x.shape);
  const bool last = axis == ChannelAxis::kLast;
  expect_shape("snake", alpha, {x.shape[last ? 1 : 0]});
  expect_shape("snake", inv_beta, alpha.shape);
  if (x.device == Device::kCuda) return cuda::snake(ctx, x, alpha, inv_beta, axis, out);
  const int64_t width = x.shape[1];
  const float *in = x.f32(), *a = alpha.f32(), *b = inv_beta.f32();
  float* to = out.f32();
  const auto each = cpu_features().simd() ? &simd::snake_each : &ref::snake_each;
  const auto one = cpu_features().simd() ? &simd::snake_one : &ref::snake_one;
  over_rows(ctx, x.shape[0], width, [&](int64_t i) {
    if (last) {
      each(in + i * width, a, b, to + i * width, width);
    } else {
      one(in + i * width, a[i], b[i], to + i * width, width);
    }
  });
}

void clamp(StepContext& ctx, const View& x, float low, float high, const View& out) {
  expect_shape("clamp", out, x.shape);
  if (x.device == Device::kCuda) return cuda::clamp(ctx, x, low, high, out);
  const float* in = x.f32();
  float* to = out.f32();
  over(ctx, x.count(), [&](int64_t begin, int64_t n) {
    for (int64_t i = begin; i < begin + n; ++i) to[i] = std::min(std::max(in[i], low), high);
  });
}

void leaky_relu(StepContext& ctx, const View& x, float slope, const View& out) {
  expect_shape("leaky_relu", out, x.shape);
  if (x.device == Device::kCuda) return cuda::leaky_relu(ctx, x, slope, out);
  const float* in = x.f32();
  float* to = out.f32();
  SYRINX_CHECK(slope > 0 && slope <= 1, "[leaky_relu] slope must be in (0, 1], got ", slope);
  // With slope <= 1, the result is the larger of x and slope * x; std::max by value vectorises.
  over(ctx, x.count(), [in, to, slope](int64_t begin, int64_t n) {
    for (int64_t i = begin; i < begin + n; ++i) {
      const float low = slope * in[i];
      to[i] = in[i] > low ? in[i] : low;
    }
  });
}

void add_inplace(StepContext& ctx, const View& x, const View& y) {
  expect_shape("add_inplace", y, x.shape);
  if (x.device == Device::kCuda) return cuda::add(ctx, x, y, {}, false);
  float* to = x.f32();
  const float* in = y.f32();
  const auto loop = cpu_features().simd() ? &simd::add : &ref::add;
  over(ctx, x.count(), [&](int64_t i, int64_t n) { loop(to + i, in + i, n); });
}

void scale_inplace(StepContext& ctx, const View& x, float factor) {
  if (x.device == Device::kCuda) return cuda::scale(ctx, x, factor);
  float* to = x.f32();
  over(ctx, x.count(), [&](int64_t begin, int64_t n) {
    for (int64_t i = begin; i < begin + n; ++i) to[i] *= factor;
  });
}

void add_scaled_inplace(StepContext& ctx, const View& x, const View& y, const View& gain) {
  SYRINX_CHECK(x.shape.dims() == 2, "[add_scaled_inplace] x must be [N, H], got ", x.shape.str());
  expect_shape("add_scaled_inplace", y, x.shape);
  expect_shape("add_scaled_inplace", gain, {x.shape[1]});
  if (x.device == Device::kCuda) return cuda::add(ctx, x, y, gain, false);
  const int64_t width = x.shape[1];
  float* to = x.f32();
  const float *in = y.f32(), *g = gain.f32();
  const auto loop = cpu_features().simd() ? &simd::add_scaled : &ref::add_scaled;
  over_rows(ctx, x.shape[0], width,
            [&](int64_t i) { loop(to + i * width, in + i * width, g, width); });
}

void add_bias_inplace(StepContext& ctx, const View& x, const View& bias) {
  SYRINX_CHECK(x.shape.dims() == 2, "[add_bias_inplace] x must be [N, H], got ", x.shape.str());
  expect_shape("add_bias_inplace", bias, {x.shape[1]});
  if (x.device == Device::kCuda) return cuda::add(ctx, x, bias, {}, true);
  const int64_t width = x.shape[1];
  float* to = x.f32();
  const float* b = bias.f32();
  const auto loop = cpu_features().simd() ? &simd::add : &ref::add;
  over_rows(ctx, x.shape[0], width, [&](int64_t i) { loop(to + i * width, b, width); });
}

}  // namespace syrinx
