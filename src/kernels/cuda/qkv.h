// store_qkv on a GPU. The rules in cuda/kernels.h apply.
#pragma once

#include "kernels/qkv.h"

namespace syrinx::cuda {

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged);

}  // namespace syrinx::cuda
