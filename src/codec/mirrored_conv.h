// A convolution that is not causal, as in EnCodec and related models: the rows at both ends are
// mirrored as padding. A call processes many streams at once, on the CPU or a GPU. Const after
// construction, shared by threads; a state is used by one call at a time. Source:
// espnet:espnet2/gan_codec/shared/encoder/seanet.py (SConv1d). T rows, C input and O output
// channels, K taps.
#pragma once

#include <vector>

#include "nn/row_queue.h"
#include "nn/row_stack.h"

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
    RowQueue early;  // the first rows, until there are enough for mirroring
    bool begun = false;
    int64_t rows = 0;  // rows read so far
  };

  /// One stream's part of a call.
  struct Job {
    View x;  ///< [T, C]
    State* state = nullptr;
    bool last = false;  ///< no rows follow
  };

  MirroredConv1d() = default;
  /// weight [O, C, K], bias [O].
  MirroredConv1d(const View& weight, const View& bias, const MirroredOptions& options);

  /// Returns the state of a new stream, on the device of the weights.
  State open() const;
  /// Runs the convolution on the jobs, each stream at most once. Returns the rows that are now
  /// final, in the arena. A stream with too few rows for mirroring is first extended by zeros, as
  /// in the authors' code. If the stride is above 1, the last call must have at least a window of
  /// rows, or all rows of the stream.
  RowStack run(StepContext& ctx, std::span<const Job> jobs) const;

  int64_t out() const { return conv_.out(); }
  size_t bytes() const { return conv_.bytes(); }
  /// Moves the weights to a GPU. States opened afterwards are on the GPU, too.
  void move_to(Device device) { conv_.move_to(device); }
  /// Returns the device of the weights.
  Device device() const { return conv_.device(); }

 private:
  class Copies;
  View padded(StepContext& ctx, const Job& job, Copies& copies) const;
  View first_rows(StepContext& ctx, const Job& job, int64_t behind, Copies& copies) const;

  CausalConv1d conv_;
  int64_t window_ = 1, stride_ = 1, before_ = 0, behind_ = 0;
};

}  // namespace syrinx
