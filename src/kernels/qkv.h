// The steps between a q|k|v projection and attention: norms of heads, rotary embedding, and writing
// the cache. On a GPU they are one launch instead of four, or a part of attention, with the same
// bits.
#pragma once

#include "kernels/attention.h"
#include "kernels/rope.h"

namespace syrinx {

/// The columns of `rows` [N, (heads + 2 kv_heads) * dim] f32: q, k, v concatenated.
struct Qkv {
  View rows;
  int heads = 0, kv_heads = 0, dim = 0;
  View q_norm = {}, k_norm = {};  ///< [dim] f32, weights of the heads' RMS norms; empty: no norm
  float q_eps = 0, k_eps = 0;
  const RopeTable* rope = nullptr;  ///< null if q and k are not rotated

  HeadsView q() const { return {rows, 0, heads, dim}; }
  HeadsView k() const { return {rows, int64_t{heads} * dim, kv_heads, dim}; }
  HeadsView v() const { return {rows, (int64_t{heads} + kv_heads) * dim, kv_heads, dim}; }
};

/// Runs rms_norm_heads and rope on q and k, then write_kv. The rows are the last positions of
/// `ragged`. Changes q in place, and may also change k.
void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged);

/// Gives the bits of store_qkv followed by paged_attention over q, in one launch on a GPU if every
/// sequence has only a few rows. May leave q and k unchanged.
void attend_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
                const Ragged& ragged, const AttentionSpec& spec, const View& out);

}  // namespace syrinx
