#include "kernels/channels.h"

#include <algorithm>
#include <cmath>

#include "base/cpu_features.h"
#include "kernels/channels_impl.h"
#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

constexpr int64_t kStretch = 32;    // rows per sum in f32
constexpr int64_t kPartRows = 256;  // rows per sum in double; constant, so that the bits never vary
constexpr int64_t kGrain = 16384;   // elements: less work is not worth waking a thread

void check(const char* caller, const View& x, std::initializer_list<View> channels) {
  SYRINX_CHECK(x.shape.dims() == 2, "[", caller, "] x must be [T, C], got ", x.shape.str());
  for (const View& view : channels) expect_shape(caller, view, {x.shape[1]});
}

template <typename F>
void each_row(StepContext& ctx, const View& x, F f) {
  const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(x.shape[1], 1));
  ctx.pool.parallel_for(x.shape[0], grain, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) f(t * x.shape[1]);
  });
}

}  // namespace

void channel_moments(StepContext& ctx, const View& x, std::span<double> mean,
                     std::span<double> variance) {
  check("channel_moments", x, {});
  const int64_t rows = x.shape[0], width = x.shape[1];
  SYRINX_CHECK(rows > 0 && std::ssize(mean) == width && std::ssize(variance) == width &&
                   x.device == Device::kCpu,
               "[channel_moments] x ", x.shape.str(), " does not match ", mean.size(),
               " means and ", variance.size(), " variances on the CPU");
  const Arena::Mark mark(ctx.arena);
  const int64_t parts = (rows + kPartRows - 1) / kPartRows;
  const std::span<double> totals = take_array<double>(ctx, parts * 2 * width);
  const View scratch = ctx.arena.take({parts, 2 * width}, DType::kF32);
  const auto sum = cpu_features().simd() ? &simd::channel_sums : &ref::channel_sums;
  const float* pivot = x.f32();
  ctx.pool.parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t p = begin; p < end; ++p) {
      float* sums = scratch.f32() + p * 2 * width;
      double* total = totals.data() + p * 2 * width;
      const int64_t last = std::min(rows, (p + 1) * kPartRows);
      for (int64_t t = p * kPartRows; t < last; t += kStretch) {
        sum(x.f32() + t * width, pivot, std::min(kStretch, last - t), width, sums);
        for (int64_t c = 0; c < 2 * width; ++c) total[c] += sums[c];
      }
    }
  });
  for (int64_t p = 1; p < parts; ++p) {
    for (int64_t c = 0; c < 2 * width; ++c) totals[c] += totals[p * 2 * width + c];
  }
  const auto count = static_cast<double>(rows);
  for (int64_t c = 0; c < width; ++c) {
    const double off = totals[c] / count;
    mean[c] = pivot[c] + off;
    variance[c] = std::max(0.0, totals[width + c] / count - off * off);
  }
}

void normalising_scale(StepContext& ctx, const View& x, const View& gain, const View& shift,
                       float eps, const View& factor, const View& summand) {
  check("normalising_scale", x, {gain, shift, factor, summand});
  SYRINX_CHECK(x.shape[0] > 0, "[normalising_scale] x has no rows");
  if (x.device == Device::kCuda)
    return cuda::normalising_scale(ctx, x, gain, shift, eps, factor, summand);
  const int64_t channels = x.shape[1];
  const Arena::Mark mark(ctx.arena);
  const std::span<double> mean = take_array<double>(ctx, channels),
                          variance = take_array<double>(ctx, channels);
  channel_moments(ctx, x, mean, variance);
  for (int64_t c = 0; c < channels; ++c) {
    const double scale = gain.f32()[c] / std::sqrt(variance[c] + double{eps});
    summand.f32()[c] = static_cast<float>(shift.f32()[c] - mean[c] * scale);
    factor.f32()[c] = static_cast<float>(scale);
  }
}

void group_norm(StepContext& ctx, const View& x, const View& weight, const View& bias,
                int64_t groups, float eps) {
  const int64_t rows = x.shape[0], channels = weight.count();
  expect_shape("group_norm", x, {rows, channels});
  expect_shape("group_norm", bias, {channels});
  SYRINX_CHECK(groups > 0 && channels % groups == 0, "[group_norm] ", groups,
               " groups cannot divide ", channels, " channels");
  if (rows == 0) return;
  if (x.device == Device::kCuda) return cuda::group_norm(ctx, x, weight, bias, groups, eps);
  const int64_t each = channels / groups;
  float* to = x.f32();
  const float *w = weight.f32(), *b = bias.f32();
  const auto count = static_cast<double>(rows * each);
  ctx.pool.parallel_for(groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      double sum = 0, power = 0;
      const auto over = [&](auto&& take) {
        for (int64_t t = 0; t < rows; ++t) {
          float* row = to + t * channels + group * each;
          for (int64_t c = 0; c < each; ++c) take(row[c], group * each + c);
        }
      };
      over([&](float value, int64_t) { sum += value; });
      const double mean = sum / count;
      over([&](float value, int64_t) { power += (value - mean) * (value - mean); });
      const double scale = 1 / std::sqrt(power / count + eps);
      over([&](float& value, int64_t c) {
        value = static_cast<float>((value - mean) * scale) * w[c] + b[c];
      });
    }
  });
}

void scale_channels(StepContext& ctx, const View& x, const View& factor, const View& summand,
                    const View& out) {
  check("scale_channels", x, {factor, summand});
  expect_shape("scale_channels", out, x.shape);
  if (x.device == Device::kCuda) return cuda::scale_channels(ctx, x, factor, summand, {}, {}, out);
  const auto row = cpu_features().simd() ? &simd::scale_row : &ref::scale_row;
  const float *in = x.f32(), *f = factor.f32(), *s = summand.f32();
  float* to = out.f32();
  each_row(ctx, x, [&](int64_t at) { row(in + at, f, s, x.shape[1], to + at); });
}

void scale_channels_snake(StepContext& ctx, const View& x, const View& factor, const View& summand,
                          const View& alpha, const View& inv_beta, const View& out) {
  check("scale_channels_snake", x, {factor, summand, alpha, inv_beta});
  expect_shape("scale_channels_snake", out, x.shape);
  if (x.device == Device::kCuda)
    return cuda::scale_channels(ctx, x, factor, summand, alpha, inv_beta, out);
  const auto row = cpu_features().simd() ? &simd::scale_snake_row : &ref::scale_snake_row;
  const float *in = x.f32(), *f = factor.f32(), *s = summand.f32();
  const float *a = alpha.f32(), *b = inv_beta.f32();
  float* to = out.f32();
  each_row(ctx, x, [&](int64_t at) { row(in + at, f, s, a, b, x.shape[1], to + at); });
}

}  // namespace syrinx
