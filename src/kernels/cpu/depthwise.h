// Depthwise convolution on the CPU: vector lanes over channels, taps one after the other.
#pragma once

#include <span>

#include "kernels/cpu/gemm.h"

namespace syrinx::cpu {

/// out[t, c] = bias[c] + sum over j of w[j, c] x[t * stride + j * dilation, c]; bias may be null.
void depthwise(StepContext& ctx, const float* w, const float* bias, int64_t channels, int64_t taps,
               std::span<const GemmSegment> segments, int64_t dilation, int64_t stride);

}  // namespace syrinx::cpu
