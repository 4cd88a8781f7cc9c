#include "kernels/lstm.h"

#include <algorithm>

#include "kernels/activation.h"
#include "kernels/cuda/kernels.h"

namespace syrinx {
namespace {

/// Computes cell and hidden state from the gates [4H], and overwrites the gates. `bent` [H]:
/// scratch memory for tanh of the cell.
void update(StepContext& ctx, const View& gates, const View& bent, float* cell, float* hidden) {
  const int64_t h = bent.shape[0];
  const View each = gates.reshape({4, h}), inner = each.slice(2, 3);
  activate(ctx, Activation::kSigmoid, each.slice(0, 2), each.slice(0, 2));
  activate(ctx, Activation::kTanh, inner, inner);
  activate(ctx, Activation::kSigmoid, each.slice(3, 4), each.slice(3, 4));
  const float* g = gates.f32();
  for (int64_t i = 0; i < h; ++i) cell[i] = g[h + i] * cell[i] + g[i] * g[2 * h + i];
  activate(ctx, Activation::kTanh, {cell, DType::kF32, {h}}, bent);
  for (int64_t i = 0; i < h; ++i) hidden[i] = g[3 * h + i] * bent.f32()[i];
}

}  // namespace

void lstm(StepContext& ctx, const PackedLinear& recurrent, std::span<const LstmSteps> streams) {
  const int64_t h = recurrent.in();
  SYRINX_CHECK(recurrent.out() == 4 * h && recurrent.type() == WeightType::kF32 &&
                   !recurrent.gated() && recurrent.part_sizes().size() == 1,
               "[lstm] the recurrent weights must be f32 [", 4 * h, ", ", h, "]");
  if (recurrent.device() == Device::kCuda) return cuda::lstm(ctx, recurrent, streams);
  const Arena::Mark mark(ctx.arena);
  const View hidden = ctx.arena.take({std::ssize(streams), h}, DType::kF32);
  const View gates = ctx.arena.take({std::ssize(streams), 4 * h}, DType::kF32);
  const View bent = ctx.arena.take({h}, DType::kF32);
  int64_t steps = 0;
  for (const LstmSteps& s : streams) steps = std::max(steps, s.steps);
  for (int64_t t = 0; t < steps; ++t) {
    int64_t rows = 0, row = 0;
    for (const LstmSteps& s : streams) {
      if (t >= s.steps) continue;
      std::copy_n(s.hidden, h, hidden.f32() + rows * h);
      std::copy_n(s.gates + t * s.stride * 4 * h, 4 * h, gates.f32() + rows++ * 4 * h);
    }
    linear_add(ctx, recurrent, hidden.slice(0, rows), gates.slice(0, rows));
    for (const LstmSteps& s : streams) {
      if (t >= s.steps) continue;
      update(ctx, gates.slice(row, row + 1), bent, s.cell, s.hidden);
      std::copy_n(s.hidden, h, s.out + t * s.stride * h);
      ++row;
    }
  }
}

}  // namespace syrinx
