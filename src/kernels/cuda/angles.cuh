// cos and sin of a position's rotary angles on the device, with the bits of RopeTable::angles().
#pragma once

#include "kernels/cuda/gpu.cuh"
#include "kernels/rope.h"

namespace syrinx::cuda {

/// A RopeTable on the device. If all pointers are null, nothing is rotated.
struct Angles {
  const float *cos = nullptr, *sin = nullptr;        ///< [cached][half]
  const float *inv_freq = nullptr, *slow = nullptr;  ///< [half]; `slow` may be null
  int64_t cached = 0;
  int half = 0;
  float gain = 1;
  bool bf16 = false;

  Angles() = default;
  explicit Angles(const RopeTable& table)
      : cos(table.cos().f32()),
        sin(table.sin().f32()),
        inv_freq(table.inv_freq().f32()),
        slow(table.slow().empty() ? nullptr : table.slow().f32()),
        cached(table.cached_positions()),
        half(table.spec().dim / 2),
        gain(table.spec().gain),
        bf16(table.spec().bf16) {}

  __device__ void get(int64_t position, int64_t pair, float* c, float* s) const {
    if (position < cached) {
      *c = cos[position * half + pair];
      *s = sin[position * half + pair];
      return;
    }
    const float slowed = static_cast<float>(position) * (slow ? slow[pair] : 1.f);
    const double angle = slowed * inv_freq[pair];
    // No angle is that large: positions are below 2^31. The compiler can omit the reduction of such
    // angles, which needs local memory.
    if (fabs(angle) >= 2147483648.0) {
      *c = *s = NAN;
      return;
    }
    *c = rounded(static_cast<float>(::cos(angle)) * gain);
    *s = rounded(static_cast<float>(::sin(angle)) * gain);
  }

 private:
  __device__ float rounded(float x) const {
    return bf16 ? gpu::bf16_to_float(gpu::float_to_bf16(x)) : x;
  }
};

}  // namespace syrinx::cuda
