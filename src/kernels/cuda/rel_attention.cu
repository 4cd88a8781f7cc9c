// Attention with relative positions: one block for each row and head.
#include <cmath>

#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/solver.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

constexpr int kRelThreads = 128, kRelWarps = kRelThreads / 32;

/// What differs from stream to stream. It is uploaded, so that launches of all streams are equal.
struct RelStream {
  const float *keys, *values, *distances;
  int64_t rows, first, origin;  // origin: place of the distance 0
};
struct RelCall {
  const float *q, *u, *v;
  float* out;
  const RelStream* stream;
  int64_t width;
  int dim;
  float scale;
};

/// Returns the largest x of a block, in every thread; `room` has a number for each warp.
__device__ inline float block_max(float x, float* room) {
  x = gpu::warp_max(x);
  __syncthreads();  // threads may still read `room`
  if (threadIdx.x % 32 == 0) room[threadIdx.x / 32] = x;
  __syncthreads();
  float top = room[0];
  for (int w = 1; w < kRelWarps; ++w) top = fmaxf(top, room[w]);
  return top;
}

__global__ void __launch_bounds__(kRelThreads) rel_rows(const __grid_constant__ RelCall call) {
  __shared__ float with_u[kRelThreads], with_v[kRelThreads], weights[kRelThreads];
  __shared__ float room[kRelWarps];
  const int64_t row = blockIdx.x, width = call.width;
  const int64_t head = int64_t{blockIdx.y} * call.dim;
  const auto thread = static_cast<int>(threadIdx.x);
  const RelStream s = *call.stream;
  if (thread < call.dim) {
    const float q = call.q[row * width + head + thread];
    with_u[thread] = q + call.u[head + thread];
    with_v[thread] = q + call.v[head + thread];
  }
  __syncthreads();
  float top = -INFINITY, sum = 0, mixed = 0;
  for (int64_t begin = 0; begin < s.rows; begin += kRelThreads) {
    const int64_t at = begin + thread;
    float score = -INFINITY;
    if (at < s.rows) {
      const float* key = s.keys + at * width + head;
      const float* distance = s.distances + (s.first + row - at + s.origin) * width + head;
      float content = 0, place = 0;
      for (int d = 0; d < call.dim; ++d) {
        content = fmaf(with_u[d], key[d], content);
        place = fmaf(with_v[d], distance[d], place);
      }
      score = call.scale * (content + place);
    }
    const float highest = fmaxf(top, block_max(score, room));
    const float kept = expf(top - highest);
    const float weight = at < s.rows ? expf(score - highest) : 0.f;
    weights[thread] = weight;
    sum = sum * kept + gpu::block_sum<kRelWarps>(weight, room);
    mixed *= kept;
    const int64_t count = s.rows - begin < kRelThreads ? s.rows - begin : kRelThreads;
    if (thread < call.dim) {
      for (int64_t i = 0; i < count; ++i)
        mixed = fmaf(weights[i], s.values[(begin + i) * width + head + thread], mixed);
    }
    top = highest;
    __syncthreads();  // the next turn writes `weights`
  }
  if (thread < call.dim) call.out[row * width + head + thread] = mixed / sum;
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

void attend_relative(StepContext& ctx, const View& q, const View& u, const View& v,
                     const RelRows& stream, int64_t heads, const View& out) {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = q.shape[0], width = q.shape[1], dim = width / heads;
  const int64_t all = stream.keys.shape[0];
  const RelStream one{stream.keys.f32(), stream.values.f32(), stream.distances.f32(), all,
                      all - rows,        -stream.nearest};
  const RelCall call{q.f32(),
                     u.f32(),
                     v.f32(),
                     out.f32(),
                     upload(ctx, std::span<const RelStream>(&one, 1)),
                     width,
                     static_cast<int>(dim),
                     1.f / std::sqrt(static_cast<float>(dim))};
  gpu::launch("rel_rows", rel_rows, dim3(static_cast<unsigned>(rows), static_cast<unsigned>(heads)),
              kRelThreads, 0, stream_of(ctx), call);
}

void encode_distances(StepContext& ctx, int64_t first, const View& out) {
  const Arena::Mark mark(ctx.arena);
  const int64_t width = out.shape[1];
  for_each(ctx, "encode_distances", out.count(),
           EncodeDistances{upload(ctx, std::span<const int64_t>(&first, 1)), out.f32(), width,
                           -std::log(10000.f) / static_cast<float>(width)});
}

}  // namespace syrinx::cuda
