// store_qkv and attend_qkv on a GPU. The rules in cuda/kernels.h apply.
#pragma once

#include "kernels/qkv.h"

namespace syrinx::cuda {

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged);
/// Stores k and v in the kernel of attention if every sequence has at most kFewRows rows.
void attend_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
                const Ragged& ragged, const AttentionSpec& spec, const View& out);

}  // namespace syrinx::cuda
