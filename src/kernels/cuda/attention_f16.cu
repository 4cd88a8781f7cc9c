// Attention over a cache of f16.
#include "kernels/cuda/attention.cuh"

namespace syrinx::cuda {

void attend_f16(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  attend_batch<DType::kF16>(ctx, call, size);
}

}  // namespace syrinx::cuda
