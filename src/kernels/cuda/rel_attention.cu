// Attention with relative positions: a block computes a row and head, 128 held rows at a time. A
// warp computes the score of a held row; then each thread adds one number of the values, in the
// order of the rows. The order of sums depends only on the rows that are seen.
#include <cmath>
#include <vector>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/gpu.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/state.h"
#include "kernels/rel_attention.h"

namespace syrinx::cuda {
namespace {

constexpr int kThreads = 128, kWarps = kThreads / 32;

/// A stream, and the first of its rows among those of the call.
struct Part {
  RelSegment stream;
  int64_t first;
};

__global__ void __launch_bounds__(kThreads)
    attend_relative(const Part* parts, int64_t count, const float* q, const float* u,
                    const float* v, float* out, int64_t width, int64_t dim, float scale) {
  __shared__ float with_u[kThreads], with_v[kThreads], weights[kThreads], room[kWarps];
  const int64_t all = blockIdx.x, head = int64_t{blockIdx.y} * dim;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const Part part =
      parts[gpu::highest(int64_t{0}, count - 1, [&](int64_t i) { return parts[i].first <= all; })];
  const RelSegment& s = part.stream;
  if (thread < dim) {
    with_u[thread] = q[all * width + head + thread] + u[head + thread];
    with_v[thread] = q[all * width + head + thread] + v[head + thread];
  }
  __syncthreads();
  const int64_t place = s.total - s.rows + all - part.first;
  const RelSeen seen = rel_seen(s, place);
  float top = -INFINITY, sum = 0, mixed = 0;
  for (int64_t begin = seen.begin; begin < seen.end; begin += kThreads) {
    const int64_t held = seen.end - begin < kThreads ? seen.end - begin : kThreads;
    for (int64_t i = warp; i < held; i += kWarps) {
      const int64_t j = begin + i;
      const float* key = s.keys + j * width + head;
      const float* distance = s.distances + (place - s.dropped - j + s.origin) * width + head;
      float score = 0;
      for (int64_t d = lane; d < dim; d += 32)
        score = fmaf(with_u[d], key[d], fmaf(with_v[d], distance[d], score));
      score = gpu::warp_sum(score);
      if (lane == 0) weights[i] = scale * score;
    }
    __syncthreads();
    const float score = thread < held ? weights[thread] : -INFINITY;
    const float highest = fmaxf(top, gpu::block_max<kWarps>(score, room)),
                kept = expf(top - highest);
    const float weight = thread < held ? expf(score - highest) : 0.f;
    weights[thread] = weight;
    sum = sum * kept + gpu::block_sum<kWarps>(weight, room);
    mixed *= kept;
    if (thread < dim) {
      const float* value = s.values + begin * width + head + thread;
      for (int64_t i = 0; i < held; ++i) mixed = fmaf(weights[i], value[i * width], mixed);
    }
    top = highest;
    __syncthreads();  // the next turn writes `weights`
  }
  if (thread < dim) out[all * width + head + thread] = mixed / sum;
}

struct EncodeDistances {
  const int64_t* first;
  float* out;
  int64_t width;
  float step;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const int64_t pair = at.column - at.column % 2;
    const float angle = static_cast<float>(*first + at.row) * expf(static_cast<float>(pair) * step);
    out[i] = at.column % 2 == 0 ? sinf(angle) : cosf(angle);
  }
};

}  // namespace

void rel_attention(StepContext& ctx, const View& q, const View& u, const View& v,
                   std::span<const RelSegment> streams, float scale, const View& out) {
  const Arena::Mark mark(ctx.arena);
  std::vector<Part> parts;
  int64_t rows = 0;
  for (const RelSegment& s : streams) {
    if (s.rows == 0) continue;
    parts.push_back({s, rows});
    rows += s.rows;
  }
  if (rows == 0) return;
  gpu::launch("rel_attention", attend_relative,
              dim3(static_cast<unsigned>(rows), static_cast<unsigned>(u.shape[0])), kThreads, 0,
              stream_of(ctx), upload(ctx, std::span<const Part>(parts)),
              static_cast<int64_t>(parts.size()), q.f32(), u.f32(), v.f32(), out.f32(), q.shape[1],
              u.shape[1], scale);
}

void encode_distances(StepContext& ctx, int64_t first, const View& out) {
  const Arena::Mark mark(ctx.arena);
  const int64_t width = out.shape[1];
  for_each(ctx, "encode_distances", out.count(),
           EncodeDistances{upload(ctx, std::span<const int64_t>(&first, 1)), out.f32(), width,
                           -std::log(10000.f) / static_cast<float>(width)});
}

}  // namespace syrinx::cuda
