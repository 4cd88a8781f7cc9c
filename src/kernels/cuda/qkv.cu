// Norms of heads, rotary embedding and writing the cache in one launch, with a warp for each head
// of a row. The steps and the order of the sums are those of norm.cu, rope.cu and attention.cu.
#include "kernels/attention_impl.h"
#include "kernels/cuda/angles.cuh"
#include "kernels/cuda/cache_row.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/state.h"
#include "kernels/qkv.h"

namespace syrinx::cuda {
namespace {

constexpr int kWarps = 4;

struct QkvCall {
  float* rows;
  int64_t stride;
  int heads, kv_heads, dim;
  bool interleaved;
  Angles angles;
  const float *q_norm, *k_norm;
  float q_eps, k_eps;
  int64_t part_bytes, head_bytes, page_bytes;
  char* cache;
  const int32_t *row_begin, *kv_len, *table;
  int sequences, max_pages;
  DType dtype;
};

__device__ void norm_head(float* x, const float* weight, int dim, float eps) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  float squares = 0;
  for (int i = lane; i < dim; i += 32) squares = fmaf(x[i], x[i], squares);
  const float factor = 1.f / sqrtf(gpu::warp_sum(squares) / static_cast<float>(dim) + eps);
  for (int i = lane; i < dim; i += 32) x[i] = x[i] * factor * weight[i];
}

__device__ void turn_head(float* x, const QkvCall& call, int64_t position) {
  for (int pair = static_cast<int>(threadIdx.x) % 32; pair < call.angles.half; pair += 32) {
    float c, s;
    call.angles.get(position, pair, &c, &s);
    float& first = x[call.interleaved ? 2 * pair : pair];
    float& second = x[call.interleaved ? 2 * pair + 1 : pair + call.angles.half];
    const float a = first, b = second;
    first = a * c - b * s;
    second = b * c + a * s;
  }
}

// Grid: rows; the heads of q, k and v, divided by the number of warps in a block.
__global__ void __launch_bounds__(32 * kWarps) store_heads(const __grid_constant__ QkvCall call) {
  __shared__ float room[kWarps][AttentionTile::kMaxDim];
  const auto row = static_cast<int>(blockIdx.x);
  const int warp = static_cast<int>(threadIdx.x) / 32, lane = static_cast<int>(threadIdx.x) % 32;
  const int head = static_cast<int>(blockIdx.y) * kWarps + warp, dim = call.dim;
  // All threads of the warp take the same branch.
  if (head >= call.heads + 2 * call.kv_heads) return;
  float* from = call.rows + row * call.stride + int64_t{head} * dim;
  const CachePosition place =
      cache_position(call.row_begin, call.kv_len, call.table, call.sequences, call.max_pages, row);
  const int kv = head - call.heads;  // below 0: a head of q; from kv_heads on: a head of v
  const bool keys = kv >= 0 && kv < call.kv_heads;
  char* part = call.cache + place.page * call.page_bytes;
  if (kv >= call.kv_heads) {
    part += (kv - call.kv_heads) * call.head_bytes + call.part_bytes;
    write_cached_row(part, from, dim, place.slot, false, call.dtype);
    return;
  }
  float* x = room[warp];
  for (int i = lane; i < dim; i += 32) x[i] = from[i];
  const float* weight = keys ? call.k_norm : call.q_norm;
  if (weight) norm_head(x, weight, dim, keys ? call.k_eps : call.q_eps);
  __syncwarp();
  turn_head(x, call, place.position);
  __syncwarp();
  if (keys) {
    write_cached_row(part + kv * call.head_bytes, x, dim, place.slot, true, call.dtype);
  } else {
    for (int i = lane; i < dim; i += 32) from[i] = x[i];
  }
}

}  // namespace

void store_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
               const Ragged& ragged) {
  if (qkv.rows.shape[0] == 0) return;
  const Arena::Mark mark(ctx.arena);
  const KvSpec& s = pool.spec();
  const int32_t* base = ragged.on_device ? ragged.on_device : upload_ragged(ctx, ragged);
  const int64_t sequences = ragged.sequences(), part = kv_part_bytes(s.head_dim, s.dtype);
  const RopeTable* rope = qkv.rope;
  const auto weight = [](const View& v) { return v.empty() ? nullptr : v.f32(); };
  const QkvCall call{qkv.rows.f32(),
                     qkv.rows.shape[1],
                     qkv.heads,
                     qkv.kv_heads,
                     qkv.dim,
                     rope && rope->spec().layout == RopeLayout::kInterleaved,
                     rope ? Angles(*rope) : Angles(),
                     weight(qkv.q_norm),
                     weight(qkv.k_norm),
                     qkv.q_eps,
                     qkv.k_eps,
                     part,
                     2 * part,
                     2 * part * s.kv_heads,
                     static_cast<char*>(pool.keys(layer, 0, 0)),
                     base,
                     base + sequences + 1,
                     base + 2 * sequences + 1,
                     static_cast<int>(sequences),
                     ragged.max_pages,
                     s.dtype};
  const int heads = qkv.heads + 2 * qkv.kv_heads;
  gpu::launch("store_qkv", store_heads,
              dim3(static_cast<unsigned>(qkv.rows.shape[0]), gpu::blocks_for(heads, kWarps)),
              32 * kWarps, 0, stream_of(ctx), call);
}

}  // namespace syrinx::cuda
