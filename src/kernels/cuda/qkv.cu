// Norms of heads, rotary embedding and writing the cache in one launch, with a warp for each head
// of a row.
#include "kernels/attention_impl.h"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/qkv.cuh"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

constexpr int kWarps = 4;

struct QkvCall {
  QkvHeads qkv;
  int64_t part_bytes, head_bytes, page_bytes;
  char* cache;
  const int32_t *row_begin, *kv_len, *table;
  int sequences, max_pages;
};

// Grid: rows; the heads of q, k and v, divided by the number of warps in a block.
__global__ void __launch_bounds__(32 * kWarps) store_heads(const __grid_constant__ QkvCall call) {
  __shared__ float room[kWarps][AttentionTile::kMaxDim];
  const QkvHeads& qkv = call.qkv;
  const auto row = static_cast<int>(blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int head = static_cast<int>(blockIdx.y) * kWarps + warp;
  // All threads of the warp take the same branch.
  if (head >= qkv.heads + 2 * qkv.kv_heads) return;
  const CachePosition place =
      cache_position(call.row_begin, call.kv_len, call.table, call.sequences, call.max_pages, row);
  if (head < qkv.heads) {
    turned_head(qkv, row, head, place.position, room[warp]);
    float* to = qkv.rows + row * qkv.stride + int64_t{head} * qkv.dim;
    for (int i = lane; i < qkv.dim; i += 32) to[i] = room[warp][i];
    return;
  }
  const bool keys = head < qkv.heads + qkv.kv_heads;
  const int kv = (head - qkv.heads) % qkv.kv_heads;
  store_kv_head(qkv, row, kv, keys, place.position, room[warp],
                call.cache + place.page * call.page_bytes + kv * call.head_bytes +
                    (keys ? 0 : call.part_bytes));
}

}  // namespace

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged) {
  if (qkv.rows.shape[0] == 0) return;
  const Arena::Mark mark(ctx.arena);
  const KvSpec& s = pool.spec();
  const int32_t* base = ragged.on_device ? ragged.on_device : upload_ragged(ctx, ragged);
  const int64_t sequences = ragged.sequences(), part = kv_part_bytes(s.head_dim, s.dtype);
  const QkvCall call{QkvHeads(qkv, s.dtype),
                     part,
                     2 * part,
                     2 * part * s.kv_heads,
                     static_cast<char*>(pool.keys(layer, 0, 0)),
                     base,
                     base + sequences + 1,
                     base + 2 * sequences + 1,
                     static_cast<int>(sequences),
                     ragged.max_pages};
  const int heads = qkv.heads + 2 * qkv.kv_heads;
  gpu::launch("store_qkv", store_heads,
              dim3(static_cast<unsigned>(qkv.rows.shape[0]), gpu::blocks_for(heads, kWarps)),
              32 * kWarps, 0, stream_of(ctx), call);
}

}  // namespace syrinx::cuda
