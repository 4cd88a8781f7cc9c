// store_qkv on a GPU; the rules in cuda/kernels.h apply here, too.
#pragma once

#include "kernels/qkv.h"

namespace syrinx::cuda {

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged);

}  // namespace syrinx::cuda
