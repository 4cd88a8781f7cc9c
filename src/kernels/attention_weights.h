// The weights that paged_attention() multiplies values with, of one head of one sequence, for those
// for code that reads them (where in a recording a word was heard). CPU only. N rows, D head size,
// L positions.
#pragma once

#include <span>

#include "kernels/attention.h"

namespace syrinx {

/// out[i, p] = softmax over p of (q[i] . K[p] * scale): q [N, D] f32, K the keys of `kv_head` at
/// positions [0, L), which lie in `pages` (32 a page, in order), out [N, L] f32. A row's bits
/// depend on that row and the keys only. For caches of f32 and f16.
void attention_weights(StepContext& ctx, const View& q, const KvPool& pool, int layer, int kv_head,
                       std::span<const int32_t> pages, float scale, const View& out);

}  // namespace syrinx
