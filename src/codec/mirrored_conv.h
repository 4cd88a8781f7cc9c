// A convolution as EnCodec's kin train it without causality: padded on both sides by what stands
// there already, mirrored. Runs on the CPU. Const after construction, shared by threads; a state is
// used by one call at a time. Source: espnet:espnet2/gan_codec/shared/encoder/seanet.py (SConv1d).
// T rows, C input and O output channels, K taps.
#pragma once

#include <vector>

#include "nn/conv.h"

namespace syrinx {

/// As of the convolution that it stands for.
struct MirroredOptions {
  int64_t dilation = 1, stride = 1;
  WeightType type = WeightType::kF32;
};

/// T rows give T / stride rows, rounded up, however a stream is cut. Where a stream has no rows,
/// those inside its ends stand in, window - stride of them in all, the larger half before it.
class MirroredConv1d {
 public:
  class State {
    friend class MirroredConv1d;
    ConvState conv;
    std::vector<float> early;  // rows, while there are too few to be mirrored
    bool begun = false;
    int64_t rows = 0;  // so far
  };

  MirroredConv1d() = default;
  /// weight [O, C, K], bias [O].
  MirroredConv1d(const View& weight, const View& bias, const MirroredOptions& options);

  State open() const;
  /// x [T, C]; `last`: nothing follows. The rows that became certain, in the arena. A stream with
  /// too few rows to be mirrored is, as if zeros followed, as the authors' code does. Where the
  /// convolution steps, the last call must bring a window of rows, or have all of them.
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
