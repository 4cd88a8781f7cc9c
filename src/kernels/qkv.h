// The steps between a q|k|v projection and attention: norms of heads, rotary embedding, and the
// cache. On a GPU one launch instead of four, with the same bits.
#pragma once

#include "kernels/attention.h"
#include "kernels/rope.h"

namespace syrinx {

/// Columns of `rows` [N, (heads + 2 kv_heads) * dim] f32: q, k, v side by side.
struct Qkv {
  View rows;
  int heads = 0, kv_heads = 0, dim = 0;
  View q_norm = {}, k_norm = {};  ///< [dim] f32 of the RMS norms of heads; empty: none
  float q_eps = 0, k_eps = 0;
  const RopeTable* rope = nullptr;  ///< null: none

  HeadsView q() const { return {rows, 0, heads, dim}; }
  HeadsView k() const { return {rows, int64_t{heads} * dim, kv_heads, dim}; }
  HeadsView v() const { return {rows, (int64_t{heads} + kv_heads) * dim, kv_heads, dim}; }
};

/// rms_norm_heads of q and k, rope of both, write_kv: the rows are the last positions of `ragged`.
/// q is changed in place; whether k is, is left open.
void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged);

}  // namespace syrinx
