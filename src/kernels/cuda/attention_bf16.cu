// Attention over a cache of bf16.
#include "kernels/cuda/attention.cuh"

namespace syrinx::cuda {

void attend_bf16(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  attend_batch<DType::kBF16>(ctx, call, size);
}

}  // namespace syrinx::cuda
