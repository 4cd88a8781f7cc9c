// The softmax weights with which paged_attention() multiplies values, for one head of one sequence.
// For code that needs the weights, such as finding the times of words in a recording. The
// host computes them, also from a cache on a GPU. N rows, D head size, L positions.
#pragma once

#include <span>

#include "kernels/attention.h"

namespace syrinx {

/// Computes out[i, p] = softmax over p of (q[i] . K[p] * scale). q [N, D] f32; out [N, L] f32, both
/// in host memory. K are the keys of `kv_head` at positions [0, L), stored in `pages` in order, 32
/// per page. A row of `out` depends only on its row of q and on the keys. The type of the
/// cache must be f32, f16 or i8; a check fails for other types.
void attention_weights(StepContext& ctx, const View& q, const KvPool& pool, int layer, int kv_head,
                       std::span<const int32_t> pages, float scale, const View& out);

}  // namespace syrinx
