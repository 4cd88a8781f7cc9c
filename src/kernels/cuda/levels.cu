// Rounding of numbers to levels, one thread per number of the result.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/solver.h"

namespace syrinx::cuda {
namespace {

struct RoundToSteps {
  float* x;
  float steps;
  __device__ void operator()(int64_t i) const { x[i] = rintf(x[i] * steps) / steps; }
};

struct LevelLogits {
  const float* numbers;  // first row of the column
  int64_t stride;
  float* out;
  int64_t width, first;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const float number = numbers[at.row * stride];
    const float half = static_cast<float>(width - first - 1) / 2;
    const bool valid = number == number;
    const float level = valid ? rintf((fminf(fmaxf(number, -1.f), 1.f) + 1) * half) : 0.f;
    const bool chosen = at.column == first + static_cast<int64_t>(level);
    out[i] = !chosen ? -INFINITY : valid ? 0.f : number;
  }
};

}  // namespace

void round_to_steps(StepContext& ctx, const View& x, float steps) {
  for_each(ctx, "round_to_steps", x.count(), RoundToSteps{x.f32(), steps});
}

void level_logits(StepContext& ctx, const View& x, int64_t column, int64_t first, const View& out) {
  for_each(ctx, "level_logits", out.count(),
           LevelLogits{x.f32() + column, x.shape[1], out.f32(), out.shape[1], first});
}

}  // namespace syrinx::cuda
