// Positions of rows, computed from the rows around them: the grouped convolution over rows, and its
// GELU, that wav2vec's kin have in place of positions. Zeros stand beyond the ends. CPU, f32. Const
// after construction, shared by threads. Source: wav2vec 2.0 (arXiv:2006.11477), as in
// transformers:src/transformers/models/hubert/modeling_hubert.py. N rows, W width, K taps.
#pragma once

#include "io/weights.h"
#include "kernels/conv.h"

namespace syrinx {

/// Sizes of the convolution, from its tensors.
struct ConvPositionSizes {
  int64_t width = 0, taps = 128, groups = 16;

  /// `scope` holds the convolution; what no tensor determines is taken from `otherwise`.
  static ConvPositionSizes of(const Weights& scope, ConvPositionSizes otherwise);
};

/// The layer and its weights; run over one whole recording at a time.
class ConvPositions {
 public:
  ConvPositions() = default;
  /// The tensors are in weight norm over every tap of its own.
  ConvPositions(const Weights& scope, const ConvPositionSizes& sizes);

  /// Rows [N, W] with zeros around them, for at().
  Tensor padded(const View& rows) const;
  /// Returns its output for rows [begin, end), in the arena. K / 2 rows before each and the rest
  /// behind it count.
  View at(StepContext& ctx, const Tensor& padded, int64_t begin, int64_t end) const;
  size_t bytes() const { return conv_.bytes(); }

 private:
  PackedConv1d conv_;
};

}  // namespace syrinx
