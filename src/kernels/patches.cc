#include "kernels/patches.h"

#include <algorithm>

#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

constexpr int64_t kTaps = 3, kStride = 2;
constexpr int64_t kGrain = 16384;  // numbers: less work is not worth waking a thread

/// Writes row `tap` of a window, 3 C numbers. `line` [B, C]: the inputs at one time, or null.
void gather_row(const float* line, int64_t bands, int64_t channels, int64_t band, float* to) {
  if (line == nullptr) {
    std::fill_n(to, kTaps * channels, 0.f);
    return;
  }
  const int64_t from = band * kStride - 1;
  const int64_t begin = std::max<int64_t>(from, 0), end = std::min(from + kTaps, bands);
  to = std::fill_n(to, (begin - from) * channels, 0.f);
  to = std::copy(line + begin * channels, line + end * channels, to);
  std::fill_n(to, (from + kTaps - end) * channels, 0.f);
}

}  // namespace

void gather_patches(StepContext& ctx, const View& planes, int64_t first, const View& out) {
  SYRINX_CHECK(planes.shape.dims() == 4, "[gather_patches] expected planes [N, T, B, C], got ",
               planes.shape.str());
  const int64_t times = planes.shape[1], bands = planes.shape[2], channels = planes.shape[3];
  const int64_t times_out = halved(times), bands_out = halved(bands);
  expect_shape("gather_patches", out, {out.shape[0], kTaps * kTaps * channels});
  SYRINX_CHECK(first >= 0 && first + out.shape[0] <= planes.shape[0] * times_out * bands_out,
               "[gather_patches] windows ", first, " to ", first + out.shape[0], " of planes ",
               planes.shape.str());
  if (planes.device == Device::kCuda) return cuda::gather_patches(ctx, planes, first, out);
  const int64_t row = kTaps * channels, grain = std::max<int64_t>(1, kGrain / (kTaps * row));
  ctx.pool.parallel_for(out.shape[0], grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t band = (first + i) % bands_out, at = (first + i) / bands_out;
      const int64_t plane = at / times_out, from = at % times_out * kStride - 1;
      for (int64_t tap = 0; tap < kTaps; ++tap) {
        const int64_t time = from + tap;
        const bool inside = time >= 0 && time < times;
        const float* line = planes.f32() + (plane * times + time) * bands * channels;
        gather_row(inside ? line : nullptr, bands, channels, band,
                   out.f32() + (i * kTaps + tap) * row);
      }
    }
  });
}

void depthwise_patches(StepContext& ctx, const View& x, const View& taps, const View& bias,
                       int64_t lead, const View& out) {
  const bool fits = x.shape.dims() == 3 && out.shape.dims() == 3 && 2 * out.shape[0] < x.shape[0] &&
                    out.shape[1] == (x.shape[1] + lead) / 2 &&
                    (x.shape[2] == 1 || x.shape[2] == out.shape[2]);
  SYRINX_CHECK(fits, "[depthwise_patches] x ", x.shape.str(), " does not fit out ",
               out.shape.str());
  const int64_t bands = x.shape[1], bands_out = out.shape[1], c = out.shape[2];
  const int64_t width = bands * x.shape[2];
  expect_shape("depthwise_patches taps", taps, {kTaps * kTaps, c});
  expect_shape("depthwise_patches bias", bias, {c});
  if (x.device == Device::kCuda) return cuda::depthwise_patches(ctx, x, taps, bias, lead, out);
  const bool deep = x.shape[2] > 1;
  ctx.pool.parallel_for(out.shape[0] * bands_out, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t row = i / bands_out, band = i % bands_out;
      float* to = out.f32() + i * c;
      std::copy_n(bias.f32(), c, to);
      for (int64_t t = 0; t < kTaps * kTaps; ++t) {
        const int64_t from = band * kStride + t % kTaps - lead;
        if (from < 0 || from >= bands) continue;
        const float* tap = taps.f32() + t * c;
        const float* value = x.f32() + (row * kStride + t / kTaps) * width + from * x.shape[2];
        if (deep) {
          for (int64_t k = 0; k < c; ++k) to[k] += tap[k] * value[k];
        } else {
          for (int64_t k = 0; k < c; ++k) to[k] += tap[k] * value[0];
        }
      }
    }
  });
}

void channels_first(StepContext& ctx, const View& x, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 3, "[channels_first] x must be [N, B, C], got ", x.shape.str());
  const int64_t bands = x.shape[1], channels = x.shape[2];
  expect_shape("channels_first", out, {x.shape[0], channels * bands});
  if (x.device == Device::kCuda) return cuda::channels_first(ctx, x, out);
  for (int64_t r = 0; r < x.shape[0]; ++r) {
    const float* from = x.f32() + r * bands * channels;
    float* to = out.f32() + r * bands * channels;
    for (int64_t b = 0; b < bands; ++b) {
      for (int64_t k = 0; k < channels; ++k) to[k * bands + b] = from[b * channels + k];
    }
  }
}

void multiply(StepContext& ctx, const View& x, const View& y) {
  expect_shape("multiply", y, x.shape);
  if (x.device == Device::kCuda) return cuda::multiply(ctx, x, y);
  float* to = x.f32();
  const float* by = y.f32();
  ctx.pool.parallel_for(x.count(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] *= by[i];
  });
}

void mean_rows(StepContext& ctx, const View& x, const View& out) {
  SYRINX_CHECK(x.shape.dims() == 2 && out.shape.dims() == 2 && x.shape[1] == out.shape[1] &&
                   out.shape[0] > 0 && x.shape[0] % out.shape[0] == 0,
               "[mean_rows] rows ", x.shape.str(), " do not fit means ", out.shape.str());
  const int64_t each = x.shape[0] / out.shape[0], width = x.shape[1];
  if (x.device == Device::kCuda) return cuda::mean_rows(ctx, x, each, out);
  for (int64_t i = 0; i < out.count(); ++i) {
    const float* from = x.f32() + i / width * each * width + i % width;
    float sum = from[0];
    for (int64_t r = 1; r < each; ++r) sum += from[r * width];
    out.f32()[i] = sum / static_cast<float>(each);
  }
}

}  // namespace syrinx
