// A convolution that is not causal, as in EnCodec and related models: the rows at both ends are
// mirrored as padding. CPU only. Const after construction, shared by threads; a state is used by
// one call at a time. Source: espnet:espnet2/gan_codec/shared/encoder/seanet.py (SConv1d). T rows,
// C input and O output channels, K taps.
#pragma once

#include <vector>

#include "nn/conv.h"

namespace syrinx {

/// Options of the convolution that a MirroredConv1d implements.
struct MirroredOptions {
  int64_t dilation = 1, stride = 1;
  WeightType type = WeightType::kF32;
};

/// T rows yield T / stride rows, rounded up, for any division of a stream into calls. Mirrored rows
/// are added at both ends: window - stride in total, the larger half before the stream.
class MirroredConv1d {
 public:
  class State {
    friend class MirroredConv1d;
    ConvState conv;
    std::vector<float> early;  // the first rows, until there are enough for mirroring
    bool begun = false;
    int64_t rows = 0;  // rows read so far
  };

  MirroredConv1d() = default;
  /// weight [O, C, K], bias [O].
  MirroredConv1d(const View& weight, const View& bias, const MirroredOptions& options);

  State open() const;
  /// Runs the convolution on x [T, C]. `last`: no rows follow. Returns the rows that are now
  /// final, in the arena. A stream with too few rows for mirroring is first extended by zeros, as
  /// in the authors' code. If the stride is above 1, the last call must have at least a window of
  /// rows, or all rows of the stream.
  View run(StepContext& ctx, const View& x, bool last, State& state) const;

  int64_t out() const { return conv_.out(); }
  size_t bytes() const { return conv_.bytes(); }

 private:
  View padded(StepContext& ctx, const View& x, bool last, State& state) const;
  View first_rows(StepContext& ctx, int64_t behind, bool last, State& state) const;

  CausalConv1d conv_;
  int64_t window_ = 1, stride_ = 1, before_ = 0, behind_ = 0;
};

}  // namespace syrinx
