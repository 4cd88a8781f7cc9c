// One layer of an LSTM, over whole sequences of equal length from a zero state, or over a stream in
// pieces. Const after construction; shared by threads. Formula and order of the gates are those of
// torch.nn.LSTM (input, forget, cell, output). T steps, P sequences, I inputs, H hidden;
// activations f32.
#pragma once

#include <string>

#include "nn/layers.h"

namespace syrinx {

/// The state of a stream: the hidden state and the cell, [1, H], initially zero.
struct LstmState {
  Tensor hidden, cell;
};

/// One layer with its weights.
class Lstm {
 public:
  Lstm() = default;
  /// Loads weight_ih, weight_hh, bias_ih and bias_hh with `suffix` ("_l0"): [4H, I], [4H, H], [4H].
  Lstm(const Weights& weights, const std::string& suffix, int64_t in, int64_t hidden);

  int64_t in() const { return input_.in(); }
  int64_t hidden() const { return hidden_; }
  /// Computes the hidden state after every step: x [T, P, I] -> out [T, P, H].
  void run(StepContext& ctx, const View& x, const View& out) const;

  LstmState open() const;
  /// Continues a stream: x [T, I] -> out [T, H]. The bits are the same for any division into calls.
  void run(StepContext& ctx, const View& x, LstmState& state, const View& out) const;
  /// Computes one step of P streams: x [P, I]. Updates hidden and cell [P, H] in place.
  void step(StepContext& ctx, const View& x, const View& hidden, const View& cell) const;
  size_t bytes() const { return input_.bytes() + recurrent_.bytes(); }

 private:
  /// Starts with the hidden state `first` [P, H] and the cell [P, H]. Updates the cell.
  void run(StepContext& ctx, const View& x, const View& first, const View& cell,
           const View& out) const;

  PackedLinear input_, recurrent_;
  int64_t hidden_ = 0;
};

}  // namespace syrinx
