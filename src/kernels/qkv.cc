#include "kernels/qkv.h"

#include "kernels/cuda/qkv.h"
#include "kernels/norm.h"
#include "kernels/write_kv_check.h"

namespace syrinx {

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged) {
  check_heads("store_qkv", qkv.v());
  for (const View& norm : {qkv.q_norm, qkv.k_norm}) {
    if (!norm.empty()) expect_shape("store_qkv", norm, {qkv.dim});
  }
  SYRINX_CHECK(!qkv.rope || qkv.rope->spec().dim <= qkv.dim, "[store_qkv] a table of ",
               qkv.rope->spec().dim, " columns exceeds heads of ", qkv.dim);
  if (qkv.rows.device == Device::kCuda) {
    check_write_kv("store_qkv", qkv.k(), qkv.v(), pool, layer, ragged);
    return cuda::store_qkv(ctx, qkv, pool, layer, ragged);
  }
  if (!qkv.q_norm.empty()) rms_norm_heads(ctx, qkv.q(), qkv.q_norm, qkv.q_eps);
  if (!qkv.k_norm.empty()) rms_norm_heads(ctx, qkv.k(), qkv.k_norm, qkv.k_eps);
  if (qkv.rope) {
    const Arena::Mark mark(ctx.host);
    const std::span<int32_t> positions = take_array<int32_t>(ctx, ragged.rows());
    ragged_positions(ragged, positions);
    rope(ctx, qkv.q(), positions, *qkv.rope);
    rope(ctx, qkv.k(), positions, *qkv.rope);
  }
  write_kv(ctx, qkv.k(), qkv.v(), pool, layer, ragged);
}

}  // namespace syrinx
