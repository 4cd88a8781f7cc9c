// store_qkv on the GPU's side; what cuda/kernels.h says holds here too.
#pragma once

#include "kernels/qkv.h"

namespace syrinx::cuda {

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged);

}  // namespace syrinx::cuda
