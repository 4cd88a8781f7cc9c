// A "same" convolution of a stream that looks ahead: an output comes once the inputs after it are
// there. Inputs may pass a leaky ReLU on their way in, which costs no pass over memory of its own.
// Const after construction; one ConvState a layer and stream. T input rows of a job, C channels.
#pragma once

#include "nn/conv.h"

namespace syrinx::piper {

class StreamConv {
 public:
  struct Options {
    int64_t dilation = 1;
    int64_t ahead = 0;  ///< inputs after its own that an output sees
    WeightType type = WeightType::kF32;
  };
  StreamConv() = default;
  /// weight [O, C, K], bias [O] or empty; at most d * (K - 1) rows ahead.
  StreamConv(const View& weight, const View& bias, const Options& options);

  ConvState open() const;
  /// Output rows of the next T inputs.
  int64_t rows(const ConvState& state, int64_t t, bool last = false) const;
  /// `slope`: of the leaky ReLU; 1: none. Within a call no stream may come twice.
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
