// Positional encoding computed from neighbouring rows: a grouped convolution over rows and a GELU.
// wav2vec and related models use it instead of a table of positions. Rows beyond the ends are
// zeros. CPU, f32. Const after construction, shared by threads. Source: wav2vec 2.0
// (arXiv:2006.11477), as in transformers:src/transformers/models/hubert/modeling_hubert.py. N rows,
// W width, K taps.
#pragma once

#include "io/weights.h"
#include "kernels/conv.h"

namespace syrinx {

/// Sizes of the convolution, from its tensors.
struct ConvPositionSizes {
  int64_t width = 0, taps = 128, groups = 16;

  /// Reads sizes from the convolution's tensors in `scope`. Sizes that no tensor determines are
  /// copied from `otherwise`.
  static ConvPositionSizes of(const Weights& scope, ConvPositionSizes otherwise);
};

/// The layer and its weights. It processes one whole recording at a time.
class ConvPositions {
 public:
  ConvPositions() = default;
  /// Loads the tensors. Their weight norm has one norm for each tap.
  ConvPositions(const Weights& scope, const ConvPositionSizes& sizes);

  /// Returns rows [N, W] with zeros before and after them, as at() requires.
  Tensor padded(const View& rows) const;
  /// Returns the layer's output for rows [begin, end), in memory of the arena. An output row
  /// depends on K / 2 rows before it and K - 1 - K / 2 rows after it.
  View at(StepContext& ctx, const Tensor& padded, int64_t begin, int64_t end) const;
  size_t bytes() const { return conv_.bytes(); }

 private:
  PackedConv1d conv_;
};

}  // namespace syrinx
