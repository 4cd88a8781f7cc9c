// The host side of paged attention, and the kernel that writes the cache. The attention kernels are
// in attention.cuh.
#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "kernels/attention_impl.h"
#include "kernels/cuda/attention_call.h"
#include "kernels/cuda/cache_row.cuh"
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/qkv.h"
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

// Grid: rows, kv heads. Warp 0 writes the keys, warp 1 the values. attention.h has the layouts.
__global__ void __launch_bounds__(64) write_rows(const __grid_constant__ WriteCall call) {
  const auto row = static_cast<int>(blockIdx.x), head = static_cast<int>(blockIdx.y);
  const bool keys = threadIdx.x < 32;
  const CachePosition place =
      cache_position(call.row_begin, call.kv_len, call.table, call.sequences, call.max_pages, row);
  char* part = call.cache + place.page * call.page_bytes + head * call.head_bytes +
               (keys ? 0 : call.part_bytes);
  const float* x = (keys ? call.k + row * call.k_stride : call.v + row * call.v_stride) +
                   int64_t{head} * call.dim;
  write_cached_row(part, x, call.dim, place.slot, keys, call.dtype);
}

/// Copies one number of a row's keys, and one of its values. T: the size of a number.
template <typename T>
struct CopyCachedRow {
  const CachedRowCopy* copies;
  char* cache;
  int64_t pages, page_bytes, head_bytes;
  int heads, dim;
  __device__ void operator()(int64_t i) const {
    const RowColumn number = row_and_column(i, dim), head = row_and_column(number.row, heads);
    const RowColumn page = row_and_column(head.row, pages);
    const CachedRowCopy copy = copies[page.row];
    const auto base = [&](int64_t first) {
      return cache + (first + page.column) * page_bytes + head.column * head_bytes;
    };
    const T* from = reinterpret_cast<const T*>(base(copy.from));
    T* to = reinterpret_cast<T*>(base(copy.to));
    constexpr int64_t kRows = KvPool::kPageRows;
    const int64_t d = number.column;
    to[d * kRows + copy.to_row] = from[d * kRows + copy.from_row];
    to[(kRows + copy.to_row) * dim + d] = from[(kRows + copy.from_row) * dim + d];
  }
};

template <typename T>
void copy_rows_of(StepContext& ctx, std::span<const CachedRowCopy> copies, int64_t pages,
                  const KvPool& pool) {
  const KvSpec& s = pool.spec();
  const Arena::Mark mark(ctx.arena);
  const int64_t head_bytes = 2 * kv_part_bytes(s.head_dim, s.dtype);
  const auto count = static_cast<int64_t>(copies.size()) * pages * s.kv_heads * s.head_dim;
  if (count == 0) return;
  for_each(ctx, "copy_cached_rows", count,
           CopyCachedRow<T>{upload(ctx, copies), static_cast<char*>(pool.keys(0, 0, 0)), pages,
                            head_bytes * s.kv_heads, head_bytes, s.kv_heads, s.head_dim});
}

/// The three arrays of a batch, one after another in device memory.
struct Arrays {
  Arrays(const int32_t* base, const Ragged& r)
      : row_begin(base), kv_len(base + r.sequences() + 1), table(kv_len + r.sequences()) {}
  const int32_t *row_begin, *kv_len, *table;
};

int most_rows(const Ragged& ragged) {
  int most = 0;
  for (int64_t b = 0; b < ragged.sequences(); ++b)
    most = std::max(most, ragged.row_begin[b + 1] - ragged.row_begin[b]);
  return most;
}

/// Queues attention over q, or with `qkv` over its q after storing its k and v.
void attend(StepContext& ctx, const HeadsView& q, const QkvHeads& qkv, const KvPool& pool,
            int layer, const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  const KvSpec& s = pool.spec();
  if (q.count() == 0) return;
  const Arena::Mark mark(ctx.arena);
  const Arrays at(ragged.on_device ? ragged.on_device : upload_ragged(ctx, ragged), ragged);
  AttentionCall call;
  call.q = q.rows.f32() + q.offset;
  call.qkv = qkv;
  call.q_stride = q.stride();
  call.out = rows_out(out);
  call.out_stride = out.shape[1];
  call.cache = static_cast<char*>(pool.keys(layer, 0, 0));
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
  call.scale = spec.scale, call.cap = spec.cap;
  if (!spec.slopes.empty()) call.slopes = spec.slopes.f32();
  if (!spec.begin.empty()) call.begin = upload(ctx, spec.begin);
  if (!spec.end.empty()) call.end = upload(ctx, spec.end);
  // Blocks without a group return immediately.
  const AttentionSize size{ragged.sequences(), most_rows(ragged), attention_groups(ragged, spec)};
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
      SYRINX_CHECK(false, "[paged_attention] unsupported cache type ", dtype_name(s.dtype));
  }
}

}  // namespace

bool on_tensor_cores(int dim) {
  const char* value = std::getenv("SYRINX_GPU_ATTENTION");
  return dim <= kMostTensorDim && !(value != nullptr && std::string_view(value) == "f32");
}

void copy_cached_rows(StepContext& ctx, std::span<const CachedRowCopy> copies, int64_t pages,
                      const KvPool& pool) {
  const bool wide = pool.spec().dtype == DType::kF32;
  (wide ? copy_rows_of<uint32_t> : copy_rows_of<uint16_t>)(ctx, copies, pages, pool);
}

const int32_t* upload_ragged(StepContext& ctx, const Ragged& r) {
  const Arena::Mark mark(ctx.host);
  const std::span<const int32_t> parts[] = {r.row_begin, r.kv_len, r.page_table};
  std::span<int32_t> all = take_array<int32_t>(
      ctx, static_cast<int64_t>(r.row_begin.size() + r.kv_len.size() + r.page_table.size()));
  auto at = all.begin();
  for (const auto part : parts) at = std::copy(part.begin(), part.end(), at);
  return upload(ctx, std::span<const int32_t>(all));
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
  attend(ctx, q, {}, pool, layer, ragged, spec, out);
}

void attend_qkv(StepContext& ctx, const Qkv& qkv, const KvPool& pool, int layer,
                const Ragged& ragged, const AttentionSpec& spec, const View& out) {
  // A block writes only positions that it attends to, so each row must attend to its own position.
  const bool once =
      most_rows(ragged) <= kFewRows && spec.causal && spec.begin.empty() && spec.end.empty();
  if (!once) cuda::store_qkv(ctx, qkv, pool, layer, ragged);
  attend(ctx, qkv.q(), once ? QkvHeads(qkv, pool.spec().dtype) : QkvHeads(), pool, layer, ragged,
         spec, out);
}

}  // namespace syrinx::cuda
