#include "nn/rel_attention.h"

#include <algorithm>
#include <cmath>

#include "kernels/rel_attention.h"
#include "nn/fixed_dot.h"
#include "tensor/absent.h"

namespace syrinx {
namespace {

constexpr int64_t kRows = 64;  // rows whose scores are in memory together

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
  table_.resize(static_cast<size_t>(count * width_));
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  linear(ctx, distance_, code, View{table_.data(), DType::kF32, {count, width_}});
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

void RelAttention::attend(StepContext& ctx, const View& qkv, const Cache& cache,
                          const View& mixed) const {
  const int64_t rows = qkv.shape[0], total = cache.rows, first = total - rows;
  const int64_t dim = width_ / heads_, width = width_, chunk = most(cache);
  const float scale = 1.f / std::sqrt(static_cast<float>(dim));
  const bool windowed = cache.left >= 0;
  const int64_t held = total - cache.dropped;
  const int64_t block = std::min(rows, kRows), room = held + 2 * dim;
  // The projection of distance d is in row d + origin.
  const float* distances = windowed ? table_.data() : cache.distances.data();
  const int64_t origin = (windowed ? chunk_ : chunk) - 1;
  const View memory = ctx.arena.take({block * heads_, room}, DType::kF32);
  const auto attend_row = [&](int64_t row, int64_t head, float* score) {
    const int64_t at = head * dim;
    float *with_u = score + held, *with_v = with_u + dim;
    const float* q = qkv.f32() + row * 3 * width + at;
    for (int64_t d = 0; d < dim; ++d) {
      with_u[d] = q[d] + bias_u_.f32()[at + d];
      with_v[d] = q[d] + bias_v_.f32()[at + d];
    }
    // The row attends to rows [begin, end) of the kept rows.
    const int64_t place = first + row, mine = place / chunk;
    const int64_t begin =
        windowed ? std::max<int64_t>(0, mine - cache.left) * chunk - cache.dropped : 0;
    const int64_t end = windowed ? std::min(total, (mine + 1) * chunk) - cache.dropped : held;
    float top = -INFINITY;
    for (int64_t j = begin; j < end; ++j) {
      const int64_t distance = place - cache.dropped - j + origin;
      score[j] = scale * (fixed_dot(with_u, cache.keys.data() + j * width + at, dim) +
                          fixed_dot(with_v, distances + distance * width + at, dim));
      top = std::max(top, score[j]);
    }
    float sum = 0;
    for (int64_t j = begin; j < end; ++j) sum += score[j] = std::exp(score[j] - top);
    float* out = mixed.f32() + row * width + at;
    std::fill_n(out, dim, 0.f);
    for (int64_t j = begin; j < end; ++j) {
      const float* value = cache.values.data() + j * width + at;
      for (int64_t d = 0; d < dim; ++d) out[d] += score[j] * value[d];
    }
    for (int64_t d = 0; d < dim; ++d) out[d] /= sum;
  };
  for (int64_t from = 0; from < rows; from += block) {
    const int64_t count = std::min(block, rows - from);
    ctx.pool.parallel_for(count * heads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        attend_row(from + task % count, task / count, memory.f32() + task * room);
      }
    });
  }
}

/// Drops the rows to which the next chunk does not attend.
void RelAttention::forget(Cache& cache) const {
  if (cache.left < 0) return;
  const int64_t next = cache.rows / cache.most;
  const int64_t gone = std::max<int64_t>(0, next - cache.left) * cache.most - cache.dropped;
  if (gone <= 0) return;
  cache.keys.erase(cache.keys.begin(), cache.keys.begin() + gone * width_);
  cache.values.erase(cache.values.begin(), cache.values.begin() + gone * width_);
  cache.dropped += gone;
}

RelAttention::Cache RelAttention::Cache::clone() const {
  return {keys,
          values,
          distances,
          keys_there.clone(),
          values_there.clone(),
          distances_there.clone(),
          rows,
          dropped,
          most,
          left};
}

/// Appends k and v to the cache, and computes attention for q.
void RelAttention::attend_there(StepContext& ctx, const View& q, const View& k, const View& v,
                                Cache& cache, const View& mixed) const {
  if (cache.rows == 0) {
    for (RowQueue* queue : {&cache.keys_there, &cache.values_there, &cache.distances_there})
      *queue = RowQueue(width_, q.device);
  }
  cache.keys_there.push(ctx, k);
  cache.values_there.push(ctx, v);
  cache.rows += k.shape[0];
  const int64_t nearest = 1 - most(cache), have = cache.distances_there.rows();
  if (const int64_t fresh = cache.rows - nearest - have; fresh > 0) {
    const View code = ctx.arena.take({fresh, width_}, DType::kF32);
    const View projected = ctx.arena.take({fresh, width_}, DType::kF32);
    encode_distances(ctx, nearest + have, code);
    linear(ctx, distance_, code, projected);
    cache.distances_there.push(ctx, projected);
  }
  attend_relative(
      ctx, q, bias_u_, bias_v_,
      {cache.keys_there.view(), cache.values_there.view(), cache.distances_there.view(), nearest},
      heads_, mixed);
}

void RelAttention::run_there(StepContext& ctx, const View& normed, std::span<const Job> jobs,
                             const View& x) const {
  const int64_t all = normed.shape[0];
  const Arena::Mark mark(ctx.arena);
  const auto take = [&] { return ctx.arena.take({all, width_}, DType::kF32); };
  const View q = take(), k = take(), v = take(), mixed = take();
  const View parts[] = {q, k, v};
  linear_parts(ctx, qkv_, normed, parts);
  int64_t at = 0;
  for (const Job& job : jobs) {
    const Arena::Mark inner(ctx.arena);
    const int64_t end = at + job.rows;
    SYRINX_CHECK(job.cache->left < 0 && job.rows <= most(*job.cache), "[rel_attention] ", job.rows,
                 " rows exceed a chunk of ", most(*job.cache), ", or the past is limited");
    if (job.rows > 0)
      attend_there(ctx, q.slice(at, end), k.slice(at, end), v.slice(at, end), *job.cache,
                   mixed.slice(at, end));
    at = end;
  }
  SYRINX_CHECK(at == all, "[rel_attention] ", at, " rows of jobs, but x has ", all);
  linear_add(ctx, out_, mixed, x);
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
  if (x.device == Device::kCuda) return run_there(ctx, normed, jobs, x);
  Arena::Mark mark(ctx.arena);
  const View qkv = ctx.arena.take({all, 3 * width_}, DType::kF32);
  const View mixed = ctx.arena.take({all, width_}, DType::kF32);
  linear(ctx, qkv_, normed, qkv);
  int64_t at = 0;
  for (const Job& job : jobs) {
    Cache& cache = *job.cache;
    if (job.rows == 0) continue;
    if (cache.left < 0) {
      SYRINX_CHECK(job.rows <= most(cache), "[rel_attention] ", job.rows,
                   " rows exceed a chunk of ", most(cache));
    } else {
      const int64_t count = std::ssize(table_) / width_;
      SYRINX_CHECK(cache.most > 0 && cache.most <= chunk_ && cache.rows % cache.most == 0 &&
                       chunk_ + (cache.left + 1) * cache.most - 1 <= count,
                   "[rel_attention] chunks of ", cache.most, " rows that see ", cache.left,
                   " chunks do not fit ", count, " distances, or a chunk is incomplete");
    }
    const View mine = qkv.slice(at, at + job.rows);
    for (int64_t i = 0; i < job.rows; ++i) {
      const float* row = mine.f32() + i * 3 * width_;
      cache.keys.insert(cache.keys.end(), row + width_, row + 2 * width_);
      cache.values.insert(cache.values.end(), row + 2 * width_, row + 3 * width_);
    }
    cache.rows += job.rows;
    if (cache.left < 0) extend(ctx, cache.rows, cache);
    const Arena::Mark inner(ctx.arena);
    attend(ctx, mine, cache, mixed.slice(at, at + job.rows));
    forget(cache);
    at += job.rows;
  }
  SYRINX_CHECK(at == all, "[rel_attention] ", at, " rows of jobs, but x has ", all);
  linear_add(ctx, out_, mixed, x);
}

}  // namespace syrinx
