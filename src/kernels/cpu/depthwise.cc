#include "kernels/cpu/depthwise.h"

#include <algorithm>

namespace syrinx::cpu {

void depthwise(StepContext& ctx, const float* w, const float* bias, int64_t channels, int64_t taps,
               std::span<const GemmSegment> segments, int64_t dilation, int64_t stride) {
  for (const GemmSegment& s : segments) {
    auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        float* __restrict out = s.out + t * channels;
        if (bias) {
          std::copy_n(bias, channels, out);
        } else {
          std::fill_n(out, channels, 0.0f);
        }
        for (int64_t j = 0; j < taps; ++j) {
          const float* __restrict x = s.x + (t * stride + j * dilation) * channels;
          const float* __restrict tap = w + j * channels;
          for (int64_t c = 0; c < channels; ++c) out[c] += tap[c] * x[c];
        }
      }
    };
    // Memory-bound: about 2 floats a nanosecond and core.
    if (s.rows * channels * taps > 100'000) {
      ctx.pool.parallel_for(s.rows, 8, rows);
    } else {
      rows(0, s.rows);
    }
  }
}

}  // namespace syrinx::cpu
