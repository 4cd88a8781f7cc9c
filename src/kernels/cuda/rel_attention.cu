// Attention with relative positions: a block computes a row and head. A warp computes the score of
// one held row at a time; then each thread adds one number of all values, in the order of the rows.
// The order of sums depends only on the rows that are seen.
#include <algorithm>
#include <vector>

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
  __shared__ float room[kWarps];
  float* with_u = gpu::dynamic_shared<float>();
  float *with_v = with_u + dim, *score = with_v + dim;
  const int64_t all = blockIdx.x, at = int64_t{blockIdx.y} * dim;
  const int thread = threadIdx.x, lane = thread % 32, warp = thread / 32;
  const Part part =
      parts[gpu::highest(int64_t{0}, count - 1, [&](int64_t i) { return parts[i].first <= all; })];
  const RelSegment& s = part.stream;
  for (int64_t d = thread; d < dim; d += kThreads) {
    with_u[d] = q[all * 3 * width + at + d] + u[at + d];
    with_v[d] = q[all * 3 * width + at + d] + v[at + d];
  }
  __syncthreads();
  const int64_t place = s.total - s.rows + all - part.first;
  const RelSeen seen = rel_seen(s, place);
  const int64_t held = seen.end - seen.begin;
  for (int64_t i = warp; i < held; i += kWarps) {
    const int64_t j = seen.begin + i;
    const float* key = s.keys + j * s.stride + at;
    const float* distance = s.distances + (place - s.dropped - j + s.origin) * width + at;
    float sum = 0;
    for (int64_t d = lane; d < dim; d += 32)
      sum = fmaf(with_u[d], key[d], fmaf(with_v[d], distance[d], sum));
    sum = gpu::warp_sum(sum);
    if (lane == 0) score[i] = scale * sum;
  }
  __syncthreads();
  float top = -INFINITY;
  for (int64_t i = 0; i < held; ++i) top = fmaxf(top, score[i]);
  __syncthreads();
  float sum = 0;
  for (int64_t i = thread; i < held; i += kThreads) sum += score[i] = expf(score[i] - top);
  sum = gpu::block_sum<kWarps>(sum, room);
  for (int64_t d = thread; d < dim; d += kThreads) {
    const float* value = s.values + seen.begin * s.stride + at + d;
    float mixed = 0;
    for (int64_t i = 0; i < held; ++i) mixed = fmaf(score[i], value[i * s.stride], mixed);
    out[all * width + at + d] = mixed / sum;
  }
}

}  // namespace

void rel_attention(StepContext& ctx, const View& qkv, const View& u, const View& v,
                   std::span<const RelSegment> streams, float scale, const View& out) {
  const Arena::Mark mark(ctx.arena);
  const int64_t dim = u.shape[1];
  std::vector<Part> parts;
  int64_t rows = 0, held = 0;
  for (const RelSegment& s : streams) {
    if (s.rows == 0) continue;
    parts.push_back({s, rows});
    rows += s.rows;
    held = std::max(held, s.total - s.dropped);
  }
  if (rows == 0) return;
  const auto shared = static_cast<size_t>(2 * dim + held) * sizeof(float);
  gpu::launch("rel_attention", attend_relative,
              dim3(static_cast<unsigned>(rows), static_cast<unsigned>(u.shape[0])), kThreads,
              shared, stream_of(ctx), upload(ctx, std::span<const Part>(parts)),
              static_cast<int64_t>(parts.size()), qkv.f32(), u.f32(), v.f32(), out.f32(),
              u.shape[0] * dim, dim, scale);
}

}  // namespace syrinx::cuda
