// The ConvNeXt block of streaming codecs: x + gamma * pw2(gelu(pw1(norm(depthwise(x))))). It is
// causal: a stream has the same bits for any division into chunks. Const after construction; each
// block and stream has one ConvState. T rows of a job, C channels.
#pragma once

#include "nn/conv.h"
#include "nn/layers.h"

namespace syrinx {

/// Sizes and names of the block. Plain data.
struct ConvNeXtConfig {
  int64_t channels = 0;
  int64_t taps = 7;
  int64_t expansion = 4;
  float eps = 1e-6f;
  const char* depthwise = "dwconv.conv";  ///< name of the depthwise convolution
};

/// One block with its weights.
class ConvNeXt {
 public:
  ConvNeXt() = default;
  /// Loads <depthwise>.{weight,bias}, norm.{weight,bias}, pwconv1, pwconv2 and gamma.
  ConvNeXt(const ConvNeXtConfig& config, const Weights& weights, WeightType type);

  ConvState open() const { return depthwise_.open(); }
  /// Runs jobs: x [T, C] -> out [T, C]. `out` may be the memory of x.
  void run(StepContext& ctx, std::span<const ConvJob> jobs) const;
  void move_to(Device device);
  size_t bytes() const { return depthwise_.bytes() + up_.bytes() + down_.bytes(); }

 private:
  CausalConv1d depthwise_;
  LayerNorm norm_;
  PackedLinear up_, down_;
};

}  // namespace syrinx
