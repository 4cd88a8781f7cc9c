#include "kernels/cpu/depthwise.h"

#include <algorithm>

namespace syrinx::cpu {

void depthwise(StepContext& ctx, const DepthwiseCall& call, std::span<const GemmSegment> segments) {
  const int64_t channels = call.channels, width = call.phases * channels;
  for (const GemmSegment& s : segments) {
    auto rows = [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        if (call.bias) {
          std::copy_n(call.bias, width, s.out + t * width);
        } else {
          std::fill_n(s.out + t * width, width, 0.0f);
        }
        for (int64_t j = 0; j < call.taps; ++j) {
          const float* __restrict x = s.x + (t * call.stride + j * call.dilation) * channels;
          for (int64_t p = 0; p < call.phases; ++p) {
            float* __restrict out = s.out + t * width + p * channels;
            const float* __restrict tap = call.w + j * width + p * channels;
            for (int64_t c = 0; c < channels; ++c) out[c] += tap[c] * x[c];
          }
        }
      }
    };
    // Memory limits the speed to about 2 floats per nanosecond and core.
    if (s.rows * width * call.taps > 100'000) {
      ctx.pool.parallel_for(s.rows, 8, rows);
    } else {
      rows(0, s.rows);
    }
  }
}

}  // namespace syrinx::cpu
