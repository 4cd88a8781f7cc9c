// Normalisation of groups of channels over all of a sequence (torch's GroupNorm), which therefore
// must be whole. Const after construction, shared by threads. T rows, C channels; activations f32.
#pragma once

#include "nn/layers.h"

namespace syrinx {

class GroupNorm {
 public:
  GroupNorm() = default;
  /// "weight" and "bias" [C] of the scope; `groups` divides C.
  GroupNorm(const Weights& weights, int64_t channels, int64_t groups, float eps = 1e-5f);

  /// x [T, C] of one sequence, in place.
  void operator()(StepContext& ctx, const View& x) const;

 private:
  Tensor weight_, bias_;
  int64_t groups_ = 1;
  float eps_ = 0;
};

}  // namespace syrinx
