#include "nn/rel_attention.h"

#include <algorithm>
#include <cmath>

#include "nn/fixed_dot.h"

namespace syrinx {
namespace {

constexpr int64_t kRows = 64;  // rows whose scores are in memory at once

/// Writes sines and cosines of the distance, interleaved (ESPnet's RelPositionalEncoding).
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
                           WeightType type)
    : width_(width), heads_(heads), chunk_(chunk) {
  SYRINX_CHECK(heads > 0 && width % heads == 0 && chunk > 0, "[rel_attention] ", heads,
               " heads in ", width, ", chunks of ", chunk);
  const LinearPart parts[] = {take_linear(weights, "linear_q", width, width, true),
                              take_linear(weights, "linear_k", width, width, true),
                              take_linear(weights, "linear_v", width, width, true)};
  qkv_ = PackedLinear::pack(parts, type);
  out_ = load_linear(weights, "linear_out", width, width, true, type);
  distance_ = load_linear(weights, "linear_pos", width, width, false, type);
  bias_u_ = weights.f32("pos_bias_u", {heads, width / heads});
  bias_v_ = weights.f32("pos_bias_v", {heads, width / heads});
}

/// Extends the projected distances to [-(chunk - 1), rows - 1]. A negative distance is that from a
/// chunk's beginning to a later row of the chunk.
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
  const int64_t block = std::min(rows, kRows), room = total + 2 * dim;
  const View memory = ctx.arena.take({block * heads_, room}, DType::kF32);
  const auto attend_row = [&](int64_t row, int64_t head, float* score) {
    const int64_t at = head * dim;
    float *with_u = score + total, *with_v = with_u + dim;
    const float* q = qkv.f32() + row * 3 * width + at;
    for (int64_t d = 0; d < dim; ++d) {
      with_u[d] = q[d] + bias_u_.f32()[at + d];
      with_v[d] = q[d] + bias_v_.f32()[at + d];
    }
    float top = -INFINITY;
    for (int64_t j = 0; j < total; ++j) {
      const int64_t distance = first + row - j + chunk - 1;
      score[j] = scale * (fixed_dot(with_u, cache.keys.data() + j * width + at, dim) +
                          fixed_dot(with_v, cache.distances.data() + distance * width + at, dim));
      top = std::max(top, score[j]);
    }
    float sum = 0;
    for (int64_t j = 0; j < total; ++j) sum += score[j] = std::exp(score[j] - top);
    float* out = mixed.f32() + row * width + at;
    std::fill_n(out, dim, 0.f);
    for (int64_t j = 0; j < total; ++j) {
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

void RelAttention::run(StepContext& ctx, const View& normed, Cache& cache, const View& x) const {
  const int64_t rows = normed.shape[0];
  expect_shape("rel_attention", normed, {rows, width_});
  expect_shape("rel_attention", x, normed.shape);
  SYRINX_CHECK(rows <= most(cache), "[rel_attention] ", rows, " rows in chunks of ", most(cache));
  if (rows == 0) return;
  Arena::Mark mark(ctx.arena);
  const View qkv = ctx.arena.take({rows, 3 * width_}, DType::kF32);
  const View mixed = ctx.arena.take({rows, width_}, DType::kF32);
  linear(ctx, qkv_, normed, qkv);
  for (int64_t i = 0; i < rows; ++i) {
    const float* row = qkv.f32() + i * 3 * width_;
    cache.keys.insert(cache.keys.end(), row + width_, row + 2 * width_);
    cache.values.insert(cache.values.end(), row + 2 * width_, row + 3 * width_);
  }
  cache.rows += rows;
  extend(ctx, cache.rows, cache);
  attend(ctx, qkv, cache, mixed);
  linear_add(ctx, out_, mixed, x);
}

}  // namespace syrinx
