// One layer of an LSTM over whole sequences in step, from a zero state. Const after construction;
// shared by threads. Formula and order of the gates: torch.nn.LSTM (input, forget, cell, output).
// T steps, P sequences, I inputs, H hidden; activations f32.
#pragma once

#include <string>

#include "nn/layers.h"

namespace syrinx {

class Lstm {
 public:
  Lstm() = default;
  /// Names weight_ih, weight_hh, bias_ih, bias_hh with `suffix` ("_l0"): [4H, I], [4H, H], [4H].
  Lstm(const Weights& weights, const std::string& suffix, int64_t in, int64_t hidden);

  int64_t in() const { return input_.in(); }
  int64_t hidden() const { return hidden_; }
  /// x [T, P, I] -> out [T, P, H], the hidden state after every step.
  void run(StepContext& ctx, const View& x, const View& out) const;
  size_t bytes() const { return input_.bytes() + recurrent_.bytes(); }

 private:
  PackedLinear input_, recurrent_;
  int64_t hidden_ = 0;
};

}  // namespace syrinx
