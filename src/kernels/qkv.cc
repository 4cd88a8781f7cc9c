#include "kernels/qkv.h"

#include "kernels/cuda/qkv.h"
#include "kernels/norm.h"
#include "kernels/write_kv_check.h"

namespace syrinx {
namespace {

void check_qkv(const char* caller, const Qkv& qkv) {
  check_heads(caller, qkv.v());
  for (const View& norm : {qkv.q_norm, qkv.k_norm}) {
    if (!norm.empty()) expect_shape(caller, norm, {qkv.dim});
  }
  SYRINX_CHECK(!qkv.rope || qkv.rope->spec().dim <= qkv.dim, "[", caller, "] a table of ",
               qkv.rope->spec().dim, " columns exceeds heads of ", qkv.dim);
}

}  // namespace

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged) {
  check_qkv("store_qkv", qkv);
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

void attend_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
                const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  if (qkv.rows.device == Device::kCuda) {
    check_qkv("attend_qkv", qkv);
    check_write_kv("attend_qkv", qkv.k(), qkv.v(), pool, layer, ragged);
    check_attention("attend_qkv", qkv.q(), pool, layer, ragged, spec, out);
    return cuda::attend_qkv(ctx, qkv, pool, layer, ragged, spec, out);
  }
  store_qkv(ctx, qkv, pool, layer, ragged);
  paged_attention(ctx, qkv.q(), pool, layer, ragged, spec, out);
}

}  // namespace syrinx
