#include "kernels/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/cpu_features.h"
#include "base/float16.h"
#include "kernels/cuda/kernels.h"
#include "kernels/rope_impl.h"

namespace syrinx {
namespace {

constexpr int kMaxHalf = 256;

float scaled_frequency(float inv_freq, const RopeScaling& s) {
  if (s.factor == 0) return inv_freq;
  const double wave = 2 * std::numbers::pi / inv_freq;
  const double low_wave = s.original_positions / s.low_freq_factor;
  const double high_wave = s.original_positions / s.high_freq_factor;
  if (wave > low_wave) return inv_freq / s.factor;
  if (wave < high_wave) return inv_freq;
  const double smooth =
      (s.original_positions / wave - s.low_freq_factor) / (s.high_freq_factor - s.low_freq_factor);
  return static_cast<float>((1 - smooth) * inv_freq / s.factor + smooth * inv_freq);
}

}  // namespace

RopeTable::RopeTable(const RopeSpec& spec, int64_t cached_positions)
    : spec_(spec),
      inv_freq_({spec.dim / 2}, DType::kF32),
      cos_({cached_positions, spec.dim / 2}, DType::kF32),
      sin_({cached_positions, spec.dim / 2}, DType::kF32) {
  SYRINX_CHECK(spec.dim > 0 && spec.dim % 2 == 0 && spec.dim <= 2 * kMaxHalf, "[rope] dim ",
               spec.dim, " is not an even number up to ", 2 * kMaxHalf);
  const int half = spec.dim / 2;
  SYRINX_CHECK(spec.factors.empty() || std::ssize(spec.factors) == half, "[rope] ",
               spec.factors.size(), " factors, but ", half, " pairs");
  for (int i = 0; i < half; ++i) {
    const float exponent = static_cast<float>(2 * i) / static_cast<float>(spec.dim);
    const double wave = std::pow(spec.theta, double{exponent});
    // For the authors' rounded angles: torch rounds the power before it divides.
    const double inverse = 1 / (spec.bf16 ? static_cast<float>(wave) : wave);
    inv_freq_.f32()[i] = scaled_frequency(static_cast<float>(inverse), spec.scaling);
  }
  if (!spec.factors.empty()) slow_ = Tensor({half}, DType::kF32);
  for (size_t i = 0; i < spec.factors.size(); ++i) slow_.f32()[i] = 1 / spec.factors[i];
  for (int64_t p = 0; p < cached_positions; ++p)
    angles(p, cos_.f32() + p * half, sin_.f32() + p * half);
}

RopeTable RopeTable::on_device(Device device) const {
  RopeTable copy;
  copy.spec_ = spec_;
  copy.inv_freq_ = copy_to(inv_freq_, device);
  if (!slow_.empty()) copy.slow_ = copy_to(slow_, device);
  copy.cos_ = copy_to(cos_, device);
  copy.sin_ = copy_to(sin_, device);
  return copy;
}

void RopeTable::angles(int64_t position, float* cos, float* sin) const {
  for (int i = 0; i < spec_.dim / 2; ++i) {
    const float factor = slow_.empty() ? 1 : slow_.f32()[i];
    const double angle = static_cast<float>(position) * factor * inv_freq_.f32()[i];
    cos[i] = static_cast<float>(std::cos(angle)) * spec_.gain;
    sin[i] = static_cast<float>(std::sin(angle)) * spec_.gain;
    if (!spec_.bf16) continue;
    cos[i] = bf16_to_f32(f32_to_bf16(cos[i]));
    sin[i] = bf16_to_f32(f32_to_bf16(sin[i]));
  }
}

void rope(StepContext& ctx, const HeadsView& x, std::span<const int32_t> positions,
          const RopeTable& table) {
  check_heads("rope", x);
  SYRINX_CHECK(static_cast<int64_t>(positions.size()) == x.count(), "[rope] ", x.count(),
               " rows, but ", positions.size(), " positions");
  SYRINX_CHECK(table.spec().dim <= x.dim, "[rope] a table of ", table.spec().dim,
               " columns exceeds heads of ", x.dim);
  for (const int32_t p : positions) SYRINX_CHECK(p >= 0, "[rope] negative position ", p);
  if (x.rows.device == Device::kCuda) return cuda::rope(ctx, x, positions, table);
  const int half = table.spec().dim / 2;
  auto turn = table.spec().layout == RopeLayout::kInterleaved ? &ref::rope_interleaved
              : cpu_features().simd()                         ? &simd::rope_half_split
                                                              : &ref::rope_half_split;
  const int64_t width = int64_t{x.heads} * x.dim;
  const int64_t grain = std::max<int64_t>(1, 32768 / width);
  ctx.pool.parallel_for(x.count(), grain, [&](int64_t begin, int64_t end) {
    float late_cos[kMaxHalf], late_sin[kMaxHalf];
    for (int64_t i = begin; i < end; ++i) {
      const float *c = late_cos, *s = late_sin;
      if (positions[i] < table.cached_positions()) {
        c = table.cos().f32() + int64_t{positions[i]} * half;
        s = table.sin().f32() + int64_t{positions[i]} * half;
      } else {
        table.angles(positions[i], late_cos, late_sin);
      }
      for (int h = 0; h < x.heads; ++h) turn(x.row(i) + int64_t{h} * x.dim, c, s, half);
    }
  });
}

}  // namespace syrinx
