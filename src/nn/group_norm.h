// Normalisation of groups of channels over a whole sequence (torch's GroupNorm). A sequence must be
// processed in one call. Const after construction, shared by threads. T rows, C channels;
// activations f32.
#pragma once

#include "kernels/channels.h"
#include "nn/layers.h"

namespace syrinx {

class GroupNorm {
 public:
  GroupNorm() = default;
  /// Loads "weight" and "bias" [C] from the scope. C must be a multiple of `groups`.
  GroupNorm(const Weights& weights, int64_t channels, int64_t groups, float eps = 1e-5f);

  /// Normalises x [T, C], one sequence, in place.
  void operator()(StepContext& ctx, const View& x) const {
    group_norm(ctx, x, weight_, bias_, groups_, eps_);
  }
  void move_to(Device device) { syrinx::move_to(device, weight_, bias_); }

 private:
  Tensor weight_, bias_;
  int64_t groups_ = 1;
  float eps_ = 0;
};

}  // namespace syrinx
