// The recurrence of one layer of an LSTM, for many streams at once. Formula and order of the gates
// are those of torch.nn.LSTM (input, forget, cell, output). A stream has the same bits alone and
// among others, and for any division into calls. H: width of the hidden state; all f32.
#pragma once

#include <span>

#include "kernels/linear.h"

namespace syrinx {

/// One stream's steps. Step t reads row t * stride of `gates` and writes row t * stride of `out`.
struct LstmSteps {
  const float* gates = nullptr;  ///< rows of 4H: the input's part of the gates, with one bias
  float* hidden = nullptr;       ///< [H], the hidden state, updated
  float* cell = nullptr;         ///< [H], updated
  float* out = nullptr;          ///< rows of H: the hidden state after each step
  int64_t steps = 0;
  int64_t stride = 1;  ///< rows from one step to the next
};

/// Runs the steps of all streams. `recurrent` [4H, H], with the other bias: f32, not gated. On a
/// GPU, a launch computes one step of all streams.
void lstm(StepContext& ctx, const PackedLinear& recurrent, std::span<const LstmSteps> streams);

}  // namespace syrinx
