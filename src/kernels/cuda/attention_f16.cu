// Attention over a cache of f16.
#include "kernels/cuda/attention_tensor.cuh"

namespace syrinx::cuda {

void attend_f16(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  if (on_tensor_cores(call.dim)) return attend_on_tensor_cores<DType::kF16>(ctx, call, size);
  attend_batch<DType::kF16>(ctx, call, size);
}

}  // namespace syrinx::cuda
