// One layer of an LSTM over whole sequences in step from a zero state, or over a stream in pieces.
// Const after construction; shared by threads. Formula and order of the gates: torch.nn.LSTM
// (input, forget, cell, output). T steps, P sequences, I inputs, H hidden; activations f32.
#pragma once

#include <string>

#include "nn/layers.h"

namespace syrinx {

/// The state of a stream: the hidden state and the cell [1, H], zero at first.
struct LstmState {
  Tensor hidden, cell;
};

/// One layer with its weights.
class Lstm {
 public:
  Lstm() = default;
  /// Names weight_ih, weight_hh, bias_ih, bias_hh with `suffix` ("_l0"): [4H, I], [4H, H], [4H].
  Lstm(const Weights& weights, const std::string& suffix, int64_t in, int64_t hidden);

  int64_t in() const { return input_.in(); }
  int64_t hidden() const { return hidden_; }
  /// x [T, P, I] -> out [T, P, H], the hidden state after every step.
  void run(StepContext& ctx, const View& x, const View& out) const;

  LstmState open() const;
  /// Goes on with a stream: x [T, I] -> out [T, H]. However it is cut, the bits are the same.
  void run(StepContext& ctx, const View& x, LstmState& state, const View& out) const;
  size_t bytes() const { return input_.bytes() + recurrent_.bytes(); }

 private:
  /// From the hidden state and cell [P, H]; leaves the cell as it is at the end.
  void run(StepContext& ctx, const View& x, const View& first, const View& cell,
           const View& out) const;

  PackedLinear input_, recurrent_;
  int64_t hidden_ = 0;
};

}  // namespace syrinx
