// Layers over whole texts: a convolution with zeros around each text, so that input and output have
// the same number of rows, and a norm over the columns of a row. Const after construction.
#pragma once

#include "families/piper/parts.h"
#include "families/piper/row_batch.h"

namespace syrinx::piper {

class SameConv {
 public:
  SameConv() = default;
  /// Loads `module` of `parts`. Depthwise if the weight has one input channel and `in` is larger.
  /// Zeros at both ends keep the number of rows. If their number is odd, the end has one more.
  SameConv(const VoiceParts& parts, const std::string& module, int64_t in, int64_t out = -1);

  RowBatch run(StepContext& ctx, const RowBatch& x) const;
  int64_t out() const { return packed_.out(); }
  int64_t taps() const { return packed_.taps(); }
  size_t bytes() const { return packed_.bytes(); }

 private:
  PackedConv1d packed_;
  int64_t dilation_ = 1;
};

/// Computes (x - mean) / sqrt(var + 1e-5) * gamma + beta for every row.
class ChannelNorm {
 public:
  ChannelNorm() = default;
  ChannelNorm(const VoiceParts& parts, const std::string& module, int64_t width)
      : gamma_(parts.f32(module + ".gamma", {width})),
        beta_(parts.f32(module + ".beta", {width})) {}
  /// Changes x in place.
  void run(StepContext& ctx, const View& x) const { layer_norm(ctx, x, gamma_, beta_, kEps, x); }

 private:
  static constexpr float kEps = 1e-5f;
  Tensor gamma_, beta_;
};

}  // namespace syrinx::piper
