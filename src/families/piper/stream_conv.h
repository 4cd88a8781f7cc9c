// A "same" convolution over a stream, with lookahead: it returns an output once the later inputs
// that it needs have arrived. Can apply a leaky ReLU to the inputs, without another pass over
// memory. Const after construction; one ConvState per layer and stream. T: input rows of a job; C:
// channels.
#pragma once

#include "nn/conv.h"

namespace syrinx::piper {

class StreamConv {
 public:
  struct Options {
    int64_t dilation = 1;
    int64_t ahead = 0;  ///< later inputs that an output depends on
    WeightType type = WeightType::kF32;
  };
  StreamConv() = default;
  /// Takes weight [O, C, K] and bias [O], which may be empty. `ahead`: at most d * (K - 1) rows.
  StreamConv(const View& weight, const View& bias, const Options& options);

  ConvState open() const;
  /// Returns the number of output rows that the next T inputs will yield.
  int64_t rows(const ConvState& state, int64_t t, bool last = false) const;
  /// Runs the jobs, with each stream at most once. `slope`: slope of the leaky ReLU; 1: no ReLU.
  void run(StepContext& ctx, std::span<const ConvJob> jobs, float slope = 1) const;

  int64_t in() const { return packed_.in(); }
  int64_t out() const { return packed_.out(); }
  size_t bytes() const { return packed_.bytes(); }

 private:
  PackedConv1d packed_;
  Options options_;
  int64_t window_ = 1;
};

}  // namespace syrinx::piper
