// The host side of paged attention, and the writing of the cache. The kernels: attention.cuh.
#include <algorithm>

#include "kernels/attention_impl.h"
#include "kernels/cuda/attention_call.h"
#include "kernels/cuda/attention_order.h"
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

struct WriteCall {
  const float *k, *v;
  int64_t k_stride, v_stride, part_bytes, head_bytes, page_bytes;
  char* cache;
  const int32_t *row_begin, *kv_len, *table;
  int sequences, max_pages, dim;
  DType dtype;
};

__device__ inline void store(char* part, int64_t at, float x, DType dtype) {
  if (dtype == DType::kF32) {
    reinterpret_cast<float*>(part)[at] = x;
  } else if (dtype == DType::kF16) {
    const float inside = isnan(x) ? x : fminf(fmaxf(x, -65504.f), 65504.f);
    reinterpret_cast<uint16_t*>(part)[at] = gpu::float_to_f16(inside);
  } else if (dtype == DType::kBF16) {
    reinterpret_cast<uint16_t*>(part)[at] = gpu::float_to_bf16(x);
  } else {
    part[at] = static_cast<char>(isnan(x) ? 0 : __float2int_rn(x));
  }
}

// Grid: rows, kv heads. Warp 0 writes the keys, warp 1 the values; layouts as in attention.h.
__global__ void __launch_bounds__(64) write_rows(const __grid_constant__ WriteCall call) {
  const auto row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool keys = threadIdx.x < 32;
  int low = 0, high = call.sequences - 1;  // the sequence that has the row
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (call.row_begin[middle] <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  const int64_t position = int64_t{call.kv_len[low]} - call.row_begin[low + 1] + row;
  const int32_t page =
      call.table[int64_t{low} * call.max_pages + position / kPage % call.max_pages];
  const int slot = static_cast<int>(position % kPage), dim = call.dim;
  char* part =
      call.cache + page * call.page_bytes + head * call.head_bytes + (keys ? 0 : call.part_bytes);
  const float* x =
      (keys ? call.k + row * call.k_stride : call.v + row * call.v_stride) + int64_t{head} * dim;
  const bool small = call.dtype == DType::kI8;
  float factor = 1;
  if (small) {
    float top = 0;
    bool bad = false;
    for (int d = lane; d < dim; d += 32) {
      top = fmaxf(top, fabsf(x[d]));
      bad = bad || isnan(x[d]);
    }
    top = gpu::warp_max(top);
    if (gpu::warp_sum(bad ? 1.f : 0.f) > 0) top = NAN;
    if (lane == 0) reinterpret_cast<float*>(part + int64_t{kPage} * dim)[slot] = top * (1.f / 127);
    factor = top > 0 ? 127.f / top : 0.f;
  }
  for (int d = lane; d < dim; d += 32) {
    int64_t at;
    if (keys) {
      at = small ? int64_t{d / 2} * 2 * kPage + slot * 2 + d % 2 : int64_t{d} * kPage + slot;
    } else {
      at = small ? int64_t{slot / 2} * 2 * dim + d * 2 + slot % 2 : int64_t{slot} * dim + d;
    }
    store(part, at, x[d] * factor, call.dtype);
  }
}

/// The three arrays of a batch on the device, one behind the other.
struct Arrays {
  Arrays(const int32_t* base, const Ragged& r)
      : row_begin(base), kv_len(base + r.sequences() + 1), table(kv_len + r.sequences()) {}
  const int32_t *row_begin, *kv_len, *table;
};

}  // namespace

const int32_t* upload_ragged(StepContext& ctx, const Ragged& r) {
  const int64_t b = r.sequences();
  auto* to = take<int32_t>(ctx, 2 * b + 1 + b * r.max_pages);
  Stream& stream = stream_of(ctx);
  stream.upload(r.row_begin.data(), to, r.row_begin.size_bytes());
  stream.upload(r.kv_len.data(), to + b + 1, r.kv_len.size_bytes());
  stream.upload(r.page_table.data(), to + 2 * b + 1, r.page_table.size_bytes());
  return to;
}

void write_kv(StepContext& ctx, const HeadsView& k, const HeadsView& v, const KvPool& pool,
              int layer, const Ragged& ragged) {
  const KvSpec& s = pool.spec();
  if (k.count() == 0) return;
  const Arena::Mark mark(ctx.arena);
  const Arrays at(ragged.on_device ? ragged.on_device : upload_ragged(ctx, ragged), ragged);
  const int64_t part = kv_part_bytes(s.head_dim, s.dtype);
  const WriteCall call{k.rows.f32() + k.offset,
                       v.rows.f32() + v.offset,
                       k.stride(),
                       v.stride(),
                       part,
                       2 * part,
                       2 * part * s.kv_heads,
                       static_cast<char*>(pool.keys(layer, 0, 0)),
                       at.row_begin,
                       at.kv_len,
                       at.table,
                       static_cast<int>(ragged.sequences()),
                       ragged.max_pages,
                       s.head_dim,
                       s.dtype};
  gpu::launch("write_kv", write_rows,
              dim3(static_cast<unsigned>(k.count()), static_cast<unsigned>(s.kv_heads)), 64, 0,
              stream_of(ctx), call);
}

void paged_attention(StepContext& ctx, const HeadsView& q, const KvPool& pool, int layer,
                     const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  const KvSpec& s = pool.spec();
  if (q.count() == 0) return;
  const Arena::Mark mark(ctx.arena);
  const Arrays at(ragged.on_device ? ragged.on_device : upload_ragged(ctx, ragged), ragged);
  AttentionCall call;
  call.q = q.rows.f32() + q.offset;
  call.q_stride = q.stride();
  call.out = out.f32();
  call.out_stride = out.shape[1];
  call.cache = static_cast<const char*>(pool.keys(layer, 0, 0));
  call.part_bytes = kv_part_bytes(s.head_dim, s.dtype);
  call.head_bytes = 2 * call.part_bytes;
  call.page_bytes = call.head_bytes * s.kv_heads;
  call.row_begin = at.row_begin;
  call.kv_len = at.kv_len;
  call.table = at.table;
  call.max_pages = ragged.max_pages;
  call.group = q.heads / s.kv_heads;
  call.kv_heads = s.kv_heads;
  call.dim = s.head_dim;
  call.window = spec.window;
  call.causal = spec.causal;
  call.scale = spec.scale;
  int max_rows = 0;
  int64_t max_groups = 0;
  for (int64_t b = 0; b < ragged.sequences(); ++b) {
    const int rows = ragged.row_begin[b + 1] - ragged.row_begin[b];
    if (rows == 0) continue;
    max_rows = std::max(max_rows, rows);
    const Seen first = seen(ragged.first_position(b), ragged.kv_len[b], spec.window, spec.causal);
    max_groups =
        std::max(max_groups, group_of(int64_t{ragged.kv_len[b]} - 1) - group_of(first.first) + 1);
  }
  const AttentionSize size{ragged.sequences(), max_rows, max_groups};
  switch (s.dtype) {
    case DType::kF32:
      return attend_f32(ctx, call, size);
    case DType::kF16:
      return attend_f16(ctx, call, size);
    case DType::kBF16:
      return attend_bf16(ctx, call, size);
    case DType::kI8:
      return attend_i8(ctx, call, size);
    default:
      SYRINX_CHECK(false, "[paged_attention] no cache of ", dtype_name(s.dtype));
  }
}

}  // namespace syrinx::cuda
