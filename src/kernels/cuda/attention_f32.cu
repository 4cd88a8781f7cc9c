// Attention over a cache of f32.
#include "kernels/cuda/attention.cuh"

namespace syrinx::cuda {

void attend_f32(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  attend_batch<DType::kF32>(ctx, call, size);
}

}  // namespace syrinx::cuda
