// One layer of an LSTM, over whole sequences of equal length from a zero state, or over streams in
// pieces. Const after construction; shared by threads. Formula and order of the gates are those of
// torch.nn.LSTM (input, forget, cell, output). T steps, P sequences, I inputs, H hidden;
// activations f32.
#pragma once

#include <span>
#include <string>

#include "nn/layers.h"

namespace syrinx {

/// The state of a stream: the hidden state and the cell, [1, H], initially zero.
struct LstmState {
  Tensor hidden, cell;
};

/// One stream's part of a batched call: its next `rows` rows.
struct LstmJob {
  LstmState* state = nullptr;
  int64_t rows = 0;
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

  /// Returns the zero state of a new stream, on the device of the weights.
  LstmState open() const;
  /// Continues streams, each at most once. x [N, I] and out [N, H] have the rows of all jobs, one
  /// job after another. The bits are the same for any division into calls.
  void run(StepContext& ctx, const View& x, std::span<const LstmJob> jobs, const View& out) const;
  /// Computes one step of P streams: x [P, I]. Updates hidden and cell [P, H] in place.
  void step(StepContext& ctx, const View& x, const View& hidden, const View& cell) const;

  /// Moves the weights to a GPU. States opened afterwards are on the GPU, too.
  void move_to(Device device) { syrinx::move_to(device, input_, recurrent_); }
  /// Returns the device of the weights.
  Device device() const { return input_.device(); }
  /// Returns the bytes of the weights.
  size_t bytes() const { return input_.bytes() + recurrent_.bytes(); }

 private:
  /// Starts with the hidden states and cells [P, H], and updates both.
  void run(StepContext& ctx, const View& x, const View& hidden, const View& cell,
           const View& out) const;
  /// Computes the input's part of the gates: x [N, I] -> [N, 4H] in the arena.
  View gates(StepContext& ctx, const View& x) const;

  PackedLinear input_, recurrent_;
  int64_t hidden_ = 0;
};

}  // namespace syrinx
