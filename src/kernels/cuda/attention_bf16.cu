// Attention over a cache of bf16.
#include "kernels/cuda/attention_tensor.cuh"

namespace syrinx::cuda {

void attend_bf16(StepContext& ctx, const AttentionCall& call, const AttentionSize& size) {
  if (on_tensor_cores(call.dim)) return attend_on_tensor_cores<DType::kBF16>(ctx, call, size);
  attend_batch<DType::kBF16>(ctx, call, size);
}

}  // namespace syrinx::cuda
