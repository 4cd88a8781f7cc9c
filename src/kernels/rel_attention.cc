#include "kernels/rel_attention.h"

#include <cmath>

#include "kernels/cuda/kernels.h"
#include "kernels/fixed_dot.h"

namespace syrinx {
namespace {

constexpr int64_t kRows = 64;      // rows whose scores are in memory together
constexpr int64_t kMostDim = 128;  // a thread of a GPU's block for each number of a head

/// The operands of all rows of a stream.
struct RelRows {
  const RelSegment& stream;
  const float *q, *u, *v;  // q: the stream's first row
  float* out;
  int64_t width, dim;
  float scale;

  /// Computes a row and head. `score`: room for all held rows and 2 D numbers.
  void run(int64_t row, int64_t head, float* score) const {
    const int64_t at = head * dim, held = stream.total - stream.dropped;
    float *with_u = score + held, *with_v = with_u + dim;
    const float* query = q + row * width + at;
    for (int64_t d = 0; d < dim; ++d) {
      with_u[d] = query[d] + u[at + d];
      with_v[d] = query[d] + v[at + d];
    }
    const int64_t place = stream.total - stream.rows + row;
    const auto [begin, end] = rel_seen(stream, place);
    float top = -INFINITY;
    for (int64_t j = begin; j < end; ++j) {
      const int64_t distance = place - stream.dropped - j + stream.origin;
      score[j] = scale * (fixed_dot(with_u, stream.keys + j * width + at, dim) +
                          fixed_dot(with_v, stream.distances + distance * width + at, dim));
      top = std::max(top, score[j]);
    }
    float sum = 0;
    for (int64_t j = begin; j < end; ++j) sum += score[j] = std::exp(score[j] - top);
    float* to = out + row * width + at;
    std::fill_n(to, dim, 0.f);
    for (int64_t j = begin; j < end; ++j) {
      const float* value = stream.values + j * width + at;
      for (int64_t d = 0; d < dim; ++d) to[d] += score[j] * value[d];
    }
    for (int64_t d = 0; d < dim; ++d) to[d] /= sum;
  }
};

void attend(StepContext& ctx, const RelRows& all, int64_t heads) {
  const Arena::Mark mark(ctx.arena);
  const RelSegment& s = all.stream;
  const int64_t block = std::min(s.rows, kRows), room = s.total - s.dropped + 2 * all.dim;
  const View memory = ctx.arena.take({block * heads, room}, DType::kF32);
  for (int64_t from = 0; from < s.rows; from += block) {
    const int64_t count = std::min(block, s.rows - from);
    ctx.pool.parallel_for(count * heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        all.run(from + task % count, task / count, memory.f32() + task * room);
      }
    });
  }
}

}  // namespace

void rel_attention(StepContext& ctx, const View& q, const View& u, const View& v,
                   std::span<const RelSegment> streams, const View& out) {
  SYRINX_CHECK(u.shape.dims() == 2 && u.shape[1] <= kMostDim,
               "[rel_attention] u must be [heads, D], D at most ", kMostDim, ", got ",
               u.shape.str());
  const int64_t heads = u.shape[0], dim = u.shape[1], width = heads * dim;
  expect_shape("rel_attention v", v, u.shape);
  expect_shape("rel_attention q", q, {q.shape[0], width});
  expect_shape("rel_attention out", out, q.shape);
  int64_t rows = 0;
  for (const RelSegment& s : streams) {
    rows += s.rows;
    SYRINX_CHECK(s.rows >= 0 && s.rows <= s.total - s.dropped && (s.left < 0 || s.chunk > 0) &&
                     rel_seen(s, s.total - s.rows).begin >= 0,
                 "[rel_attention] ", s.rows, " rows of ", s.total, ", ", s.dropped, " dropped");
  }
  SYRINX_CHECK(rows == q.shape[0], "[rel_attention] ", rows, " rows of streams, but q is ",
               q.shape.str());
  const float scale = 1.f / std::sqrt(static_cast<float>(dim));
  if (q.device == Device::kCuda) {
    return cuda::rel_attention(ctx, q, u, v, streams, scale, out);
  }
  for (int64_t at = 0; const RelSegment& s : streams) {
    if (s.rows == 0) continue;
    attend(ctx,
           {s, q.f32() + at * width, u.f32(), v.f32(), out.f32() + at * width, width, dim, scale},
           heads);
    at += s.rows;
  }
}

void encode_distances(StepContext& ctx, int64_t first, const View& out) {
  if (out.count() == 0) return;
  if (out.device == Device::kCuda) return cuda::encode_distances(ctx, first, out);
  const int64_t width = out.shape[1];
  const float step = -std::log(10000.f) / static_cast<float>(width);
  for (int64_t r = 0; r < out.shape[0]; ++r) {
    float* row = out.f32() + r * width;
    for (int64_t i = 0; i < width; i += 2) {
      const float angle = static_cast<float>(first + r) * std::exp(static_cast<float>(i) * step);
      row[i] = std::sin(angle);
      if (i + 1 < width) row[i + 1] = std::cos(angle);
    }
  }
}

}  // namespace syrinx
