#include "nn/rel_attention.h"

#include <algorithm>

#include "tensor/absent.h"

namespace syrinx {

RelAttention::RelAttention(const Weights& weights, int64_t width, int64_t heads, int64_t chunk,
                           WeightType type, const RelNames& names)
    : width_(width), heads_(heads), chunk_(chunk) {
  SYRINX_CHECK(heads > 0 && width % heads == 0 && chunk > 0, "[rel_attention] ", heads,
               " heads in width ", width, " with chunks of ", chunk, " are invalid");
  const LinearPart parts[] = {take_linear(weights, names.q, width, width, names.biased),
                              take_linear(weights, names.k, width, width, names.biased),
                              take_linear(weights, names.v, width, width, names.biased)};
  qkv_ = PackedLinear::pack(parts, type);
  out_ = load_linear(weights, names.out, width, width, names.biased, type);
  distance_ = load_linear(weights, names.distance, width, width, false, type);
  bias_u_ = weights.f32(names.bias_u, {heads, width / heads});
  bias_v_ = weights.f32(names.bias_v, {heads, width / heads});
}

void RelAttention::prepare(int64_t farthest) {
  if (AbsentTensors::here()) return;
  const int64_t count = chunk_ + farthest;
  const Tensor code({count, width_}, DType::kF32);
  table_ = Tensor({count, width_}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  encode_distances(ctx, 1 - chunk_, code);
  linear(ctx, distance_, code, table_);
}

void RelAttention::move_to(Device device) {
  syrinx::move_to(device, qkv_, out_, distance_, bias_u_, bias_v_, table_);
}

RelAttention::Cache RelAttention::open(int64_t most, int64_t left) const {
  const RowQueue queue(width_, qkv_.device());
  return {queue.clone(), queue.clone(), queue.clone(), 0, 0, most > 0 ? most : chunk_, left};
}

RelAttention::Cache RelAttention::Cache::clone() const {
  return {keys.clone(), values.clone(), distances.clone(), rows, dropped, most, left};
}

/// Extends the projected distances of a cache to [1 - most, rows - 1]. A negative distance leads
/// from a row to a later row of its chunk.
void RelAttention::extend(StepContext& ctx, Cache& cache) const {
  const int64_t have = cache.distances.rows(), fresh = cache.most - 1 + cache.rows - have;
  if (fresh <= 0) return;
  const Arena::Mark mark(ctx.arena);
  const View code = ctx.arena.take({fresh, width_}, DType::kF32);
  const View projected = ctx.arena.take({fresh, width_}, DType::kF32);
  encode_distances(ctx, have + 1 - cache.most, code);
  linear(ctx, distance_, code, projected);
  cache.distances.push(ctx, projected);
}

RelSegment RelAttention::segment(const Job& job) const {
  const Cache& cache = *job.cache;
  const bool windowed = cache.left >= 0;
  return {.rows = job.rows,
          .total = cache.rows,
          .dropped = cache.dropped,
          .chunk = cache.most,
          .left = cache.left,
          .keys = cache.keys.view().f32(),
          .values = cache.values.view().f32(),
          .distances = windowed ? table_.f32() : cache.distances.view().f32(),
          .origin = (windowed ? chunk_ : cache.most) - 1};
}

/// Appends the rows k and v of all jobs to their caches.
void RelAttention::append(StepContext& ctx, const View& k, const View& v,
                          std::span<const Job> jobs) const {
  const View none{nullptr, DType::kF32, {0, width_}};
  const std::span<QueueSum> pushes = take_array<QueueSum>(ctx, 2 * std::ssize(jobs));
  size_t used = 0;
  for (int64_t at = 0; const Job& job : jobs) {
    if (job.rows == 0) continue;
    pushes[used++] = {&job.cache->keys, k.slice(at, at + job.rows), none};
    pushes[used++] = {&job.cache->values, v.slice(at, at + job.rows), none};
    job.cache->rows += job.rows;
    at += job.rows;
  }
  copy_oldest(ctx, pushes.first(used));
  for (const Job& job : jobs)
    if (job.rows > 0 && job.cache->left < 0) extend(ctx, *job.cache);
}

/// Drops the rows to which the next chunks do not attend.
void RelAttention::forget(StepContext& ctx, std::span<const Job> jobs) const {
  const Arena::Mark mark(ctx.arena);
  const View none{nullptr, DType::kF32, {0, width_}};
  const std::span<QueueSum> pops = take_array<QueueSum>(ctx, 2 * std::ssize(jobs));
  size_t used = 0;
  for (const Job& job : jobs) {
    Cache& cache = *job.cache;
    if (cache.left < 0) continue;
    const int64_t next = cache.rows / cache.most;
    const int64_t gone = std::max<int64_t>(0, next - cache.left) * cache.most - cache.dropped;
    if (gone <= 0) continue;
    const View out = ctx.arena.take({gone, width_}, DType::kF32);
    pops[used++] = {&cache.keys, none, out};
    pops[used++] = {&cache.values, none, ctx.arena.take({gone, width_}, DType::kF32)};
    cache.dropped += gone;
  }
  copy_oldest(ctx, pops.first(used));
}

void RelAttention::check(const Job& job) const {
  const Cache& cache = *job.cache;
  if (job.rows == 0) return;
  if (cache.left < 0) {
    SYRINX_CHECK(job.rows <= cache.most, "[rel_attention] ", job.rows, " rows exceed a chunk of ",
                 cache.most);
    return;
  }
  const int64_t count = table_.empty() ? 0 : table_.shape()[0];
  SYRINX_CHECK(cache.most > 0 && cache.most <= chunk_ && cache.rows % cache.most == 0 &&
                   chunk_ + (cache.left + 1) * cache.most - 1 <= count,
               "[rel_attention] chunks of ", cache.most, " rows that see ", cache.left,
               " chunks do not fit ", count, " distances, or a chunk is incomplete");
}

void RelAttention::run(StepContext& ctx, const View& normed, Cache& cache, const View& x) const {
  const Job job{normed.shape[0], &cache};
  run(ctx, normed, std::span(&job, 1), x);
}

void RelAttention::run(StepContext& ctx, const View& normed, std::span<const Job> jobs,
                       const View& x) const {
  expect_shape("rel_attention", normed, {normed.shape[0], width_});
  expect_shape("rel_attention", x, normed.shape);
  int64_t rows = 0;
  for (const Job& job : jobs) {
    check(job);
    rows += job.rows;
  }
  SYRINX_CHECK(rows == x.shape[0], "[rel_attention] ", rows, " rows of jobs, but x has ",
               x.shape[0]);
  if (rows == 0) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto take = [&] { return ctx.arena.take(x.shape, DType::kF32); };
  const View q = take(), k = take(), v = take(), mixed = take();
  const View parts[] = {q, k, v};
  linear_parts(ctx, qkv_, normed, parts);
  append(ctx, k, v, jobs);
  const std::span<RelSegment> streams = take_array<RelSegment>(ctx, std::ssize(jobs));
  for (size_t j = 0; j < jobs.size(); ++j) streams[j] = segment(jobs[j]);
  rel_attention(ctx, q, bias_u_, bias_v_, streams, mixed);
  forget(ctx, jobs);
  linear_add(ctx, out_, mixed, x);
}

}  // namespace syrinx
