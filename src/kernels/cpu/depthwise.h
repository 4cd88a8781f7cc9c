// Depthwise convolution on the CPU. Vector lanes are channels; taps are added one after another.
#pragma once

#include <span>

#include "kernels/cpu/gemm.h"

namespace syrinx::cpu {

/// A channel of input yields `phases` channels of output [T_out, phases * channels]: out[t, p, c] =
/// bias[p, c] + sum over j of w[j, p, c] x[t * stride + j * dilation, c]. bias may be null.
struct DepthwiseCall {
  const float* w = nullptr;
  const float* bias = nullptr;
  int64_t channels = 0, phases = 1, taps = 0;
  int64_t dilation = 1, stride = 1;
};
/// Runs the convolution on the context's threads, with the code for this processor.
void depthwise(StepContext& ctx, const DepthwiseCall& call, std::span<const GemmSegment> segments);

}  // namespace syrinx::cpu
