#include "nn/rel_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/copy.h"
#include "tensor/absent.h"

namespace syrinx {
namespace {

/// Writes sines and cosines of the distance, interleaved as ESPnet's RelPositionalEncoding does.
void encode_distance(int64_t distance, int64_t width, float* out) {
  const float step = -std::log(10000.f) / static_cast<float>(width);
  for (int64_t i = 0; i < width; i += 2) {
    const float angle = static_cast<float>(distance) * std::exp(static_cast<float>(i) * step);
    out[i] = std::sin(angle);
    if (i + 1 < width) out[i + 1] = std::cos(angle);
  }
}

}  // namespace

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
  Tensor code({count, width_}, DType::kF32);
  for (int64_t i = 0; i < count; ++i) {
    encode_distance(i - (chunk_ - 1), width_, code.f32() + i * width_);
  }
  table_ = Tensor({count, width_}, DType::kF32);
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  linear(ctx, distance_, code, table_);
}

void RelAttention::move_to(Device device) {
  syrinx::move_to(device, qkv_, out_, distance_, bias_u_, bias_v_, table_);
}

Tensor RelAttention::open_held(const Cache& cache) const {
  const Device device = qkv_.device();
  if (device == Device::kCpu || cache.left < 0) return {};
  return {{(cache.left + 1) * cache.most, 2 * width_}, DType::kF32, device};
}

View RelAttention::encode_distances(StepContext& ctx, int64_t rows, int64_t width) {
  const Arena::Mark mark(ctx.host);
  const View code = ctx.host.take({2 * rows - 1, width}, DType::kF32);
  for (int64_t i = 0; i < code.shape[0]; ++i)
    encode_distance(i - (rows - 1), width, code.f32() + i * width);
  return upload(ctx, code);
}

/// Extends the projected distances to [-(chunk - 1), rows - 1]. A negative distance leads from a
/// row to a later row of its chunk.
void RelAttention::extend(StepContext& ctx, int64_t rows, Cache& cache) const {
  const int64_t chunk = most(cache);
  const int64_t have = static_cast<int64_t>(cache.distances.size()) / width_;
  const int64_t fresh = chunk - 1 + rows - have;
  if (fresh <= 0) return;
  Arena::Mark mark(ctx.arena);
  const View code = ctx.arena.take({fresh, width_}, DType::kF32);
  for (int64_t i = 0; i < fresh; ++i) {
    encode_distance(have + i - (chunk - 1), width_, code.f32() + i * width_);
  }
  cache.distances.resize(static_cast<size_t>((have + fresh) * width_));
  const View out{cache.distances.data() + have * width_, DType::kF32, {fresh, width_}};
  linear(ctx, distance_, code, out);
}

/// Returns the rows of a job and its cache, which has them already. Sets neither keys nor values.
RelSegment RelAttention::segment(const Job& job) const {
  const Cache& cache = *job.cache;
  return {.rows = job.rows,
          .total = cache.rows,
          .dropped = cache.dropped,
          .chunk = most(cache),
          .left = cache.left,
          .distances = cache.left >= 0 ? table_.f32() : cache.distances.data(),
          .origin = (cache.left >= 0 ? chunk_ : most(cache)) - 1};
}

void RelAttention::attend(StepContext& ctx, const View& qkv, std::span<const Job> jobs,
                          const View& mixed) const {
  for (int64_t at = 0; const Job& job : jobs) {
    Cache& cache = *job.cache;
    if (job.rows == 0) continue;
    const View mine = qkv.slice(at, at + job.rows);
    for (int64_t i = 0; i < job.rows; ++i) {
      const float* row = mine.f32() + i * 3 * width_;
      cache.keys.insert(cache.keys.end(), row + width_, row + 2 * width_);
      cache.values.insert(cache.values.end(), row + 2 * width_, row + 3 * width_);
    }
    cache.rows += job.rows;
    if (cache.left < 0) extend(ctx, cache.rows, cache);
    RelSegment stream = segment(job);
    stream.keys = cache.keys.data(), stream.values = cache.values.data(), stream.stride = width_;
    rel_attention(ctx, mine, bias_u_, bias_v_, {&stream, 1}, mixed.slice(at, at + job.rows));
    const int64_t gone = forget(cache);
    cache.keys.erase(cache.keys.begin(), cache.keys.begin() + gone * width_);
    cache.values.erase(cache.values.begin(), cache.values.begin() + gone * width_);
    at += job.rows;
  }
}

/// Joins the held rows and the new rows of each stream in the arena, attends to them, and keeps
/// those that later rows need.
void RelAttention::attend_on_gpu(StepContext& ctx, const View& qkv, std::span<const Job> jobs,
                                 const View& mixed) const {
  const Arena::Mark host_mark(ctx.host);
  const int64_t wide = 2 * width_, count = std::ssize(jobs);
  const std::span<RelSegment> streams = take_array<RelSegment>(ctx, count);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, count + qkv.shape[0]);
  const std::span<CopySpan> kept = take_array<CopySpan>(ctx, count);
  size_t used = 0;
  for (int64_t j = 0, at = 0; j < count; ++j) {
    const Job& job = jobs[j];
    Cache& cache = *job.cache;
    if (job.rows == 0) continue;
    const int64_t old = cache.rows - cache.dropped;
    SYRINX_CHECK(cache.left >= 0 ? !job.held.empty() : old == 0 && !job.distances.empty(),
                 "[rel_attention] memory or distances of a stream are missing, or a stream without "
                 "`left` has several calls on a GPU");
    const View all = ctx.arena.take({old + job.rows, wide}, DType::kF32);
    if (old > 0) copies[used++] = {job.held.f32(), all.f32(), old * wide};
    for (int64_t i = 0; i < job.rows; ++i)
      copies[used++] = {qkv.f32() + (at + i) * 3 * width_ + width_, all.f32() + (old + i) * wide,
                        wide};
    cache.rows += job.rows;
    RelSegment& stream = streams[j] = segment(job);
    stream.keys = all.f32(), stream.values = all.f32() + width_, stream.stride = wide;
    if (cache.left < 0) {
      const View distances = ctx.arena.take({job.distances.shape[0], width_}, DType::kF32);
      linear(ctx, distance_, job.distances, distances);
      stream.distances = distances.f32(), stream.origin = distances.shape[0] / 2;
    } else {
      const int64_t gone = forget(cache);
      kept[j] = {all.f32() + gone * wide, job.held.f32(), (all.shape[0] - gone) * wide};
    }
    at += job.rows;
  }
  copy_spans(ctx, copies.first(used));
  rel_attention(ctx, qkv, bias_u_, bias_v_, streams, mixed);
  copy_spans(ctx, kept);
}

/// Drops the rows to which the next chunk does not attend from the count, and returns their number.
int64_t RelAttention::forget(Cache& cache) const {
  if (cache.left < 0) return 0;
  const int64_t next = cache.rows / cache.most;
  const int64_t gone = std::max<int64_t>(0, next - cache.left) * cache.most - cache.dropped;
  if (gone <= 0) return 0;
  cache.dropped += gone;
  return gone;
}

void RelAttention::check(const Job& job) const {
  const Cache& cache = *job.cache;
  if (job.rows == 0) return;
  if (cache.left < 0) {
    SYRINX_CHECK(job.rows <= most(cache), "[rel_attention] ", job.rows, " rows exceed a chunk of ",
                 most(cache));
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
  const int64_t all = normed.shape[0];
  expect_shape("rel_attention", normed, {all, width_});
  expect_shape("rel_attention", x, normed.shape);
  if (all == 0) return;
  Arena::Mark mark(ctx.arena);
  const View qkv = ctx.arena.take({all, 3 * width_}, DType::kF32);
  const View mixed = ctx.arena.take({all, width_}, DType::kF32);
  linear(ctx, qkv_, normed, qkv);
  int64_t rows = 0;
  for (const Job& job : jobs) {
    check(job);
    rows += job.rows;
  }
  SYRINX_CHECK(rows == all, "[rel_attention] ", rows, " rows of jobs, but x has ", all);
  if (ctx.device == Device::kCpu) {
    attend(ctx, qkv, jobs, mixed);
  } else {
    attend_on_gpu(ctx, qkv, jobs, mixed);
  }
  linear_add(ctx, out_, mixed, x);
}

}  // namespace syrinx
