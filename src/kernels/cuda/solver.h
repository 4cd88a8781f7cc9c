// The CUDA kernels for the functions of kernels/{levels,modulate,solver}.h, as in kernels.h.
#pragma once

#include "tensor/context.h"

namespace syrinx::cuda {

void modulate(StepContext& ctx, const View& x, const View& by);
void add_gated(StepContext& ctx, const View& x, const View& y, const View& by);

void weighted_sum(StepContext& ctx, float a, const View& x, float b, const View& y,
                  const View& out);
/// Its sums are f32.
void guide_zero_star(StepContext& ctx, const View& c, const View& u, const View& scales);

void round_to_steps(StepContext& ctx, const View& x, float steps);
void level_logits(StepContext& ctx, const View& x, int64_t column, int64_t first, const View& out);

}  // namespace syrinx::cuda
