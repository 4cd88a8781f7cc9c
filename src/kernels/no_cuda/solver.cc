// Implements kernels/cuda/solver.h in builds without the CUDA backend, as kernels.cc does.
#include "kernels/cuda/solver.h"

#include "base/error.h"

namespace syrinx::cuda {
namespace {
[[noreturn]] void no_solver() { throw InternalError("this build has no CUDA backend"); }
}  // namespace

void modulate(StepContext&, const View&, const View&) { no_solver(); }
void add_gated(StepContext&, const View&, const View&, const View&) { no_solver(); }
void weighted_sum(StepContext&, float, const View&, float, const View&, const View&) {
  no_solver();
}
void guide_zero_star(StepContext&, const View&, const View&, const View&) { no_solver(); }
void round_to_steps(StepContext&, const View&, float) { no_solver(); }
void level_logits(StepContext&, const View&, int64_t, int64_t, const View&) { no_solver(); }

}  // namespace syrinx::cuda
