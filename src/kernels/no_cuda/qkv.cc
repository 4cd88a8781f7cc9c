#include "kernels/cuda/qkv.h"

namespace syrinx::cuda {

void store_qkv(StepContext&, const Qkv&, const KvPool&, int, const Ragged&) {
  throw InternalError("this build has no CUDA backend");
}
void attend_qkv(StepContext&, const Qkv&, const KvPool&, int, const Ragged&, const AttentionSpec&,
                const View&) {
  throw InternalError("this build has no CUDA backend");
}

}  // namespace syrinx::cuda
