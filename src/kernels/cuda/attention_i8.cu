// Attention over a cache of i8.
#include "kernels/cuda/attention.cuh"

namespace syrinx::cuda {

void attend_i8(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  attend_batch<DType::kI8>(ctx, call, size);
}

}  // namespace syrinx::cuda
