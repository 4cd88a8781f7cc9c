// Norms of rows. One warp processes a short row, so that a head has the same bits as a row of its
// size. One block processes a long row. The order of the sums depends only on the width.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/cuda/rms.cuh"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

constexpr int kThreads = kNormThreads, kWarps = kThreads / 32;

struct RmsRows {
  float* x;            // x [rows, stride]
  const float* delta;  // delta [rows, width], or null
  const float* weight;
  RowsOut out;
  int64_t x_stride, out_stride;  // distances between rows
  int64_t groups, group_stride;  // number of heads in a row, and the distance between heads
  int64_t rows, width;
  float eps;
};

__device__ float add_delta(float* x, const float* delta, int64_t i) {
  if (!delta) return x[i];
  const float sum = x[i] + delta[i];
  x[i] = sum;
  return sum;
}

/// Normalises a row of at most kThreads * kEach numbers. They stay in registers, so all loads start
/// together.
template <int kEach>
__global__ void __launch_bounds__(kThreads) rms_long_rows(const __grid_constant__ RmsRows a) {
  __shared__ float room[kWarps];
  const int64_t row = blockIdx.x;
  float* x = a.x + row * a.x_stride;
  const float* delta = a.delta ? a.delta + row * a.width : nullptr;
  const int64_t out = row * a.out_stride;
  const auto thread = static_cast<int64_t>(threadIdx.x);
  float v[kEach], weight[kEach];
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int64_t at = thread + i * kThreads;
    v[i] = at < a.width ? x[at] : 0.f;
    weight[i] = at < a.width ? a.weight[at] : 0.f;
  }
  if (delta) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int64_t at = thread + i * kThreads;
      if (at >= a.width) continue;
      v[i] += delta[at];
      x[at] = v[i];
    }
  }
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kEach; ++i) squares = fmaf(v[i], v[i], squares);
  const float factor = rms_factor(gpu::block_sum<kWarps>(squares, room), a.width, a.eps);
#pragma unroll
  for (int i = 0; i < kEach; ++i) {
    const int64_t at = thread + i * kThreads;
    if (at < a.width) put_number(a.out, out + at, v[i] * factor * weight[i]);
  }
}

/// Normalises a row of any length.
__global__ void __launch_bounds__(kThreads) rms_longest_rows(const __grid_constant__ RmsRows a) {
  __shared__ float room[kWarps];
  const int64_t row = blockIdx.x;
  float* x = a.x + row * a.x_stride;
  const float* delta = a.delta ? a.delta + row * a.width : nullptr;
  const int64_t out = row * a.out_stride;
  float squares = 0;
  for (int64_t i = threadIdx.x; i < a.width; i += kThreads) {
    const float v = add_delta(x, delta, i);
    squares = fmaf(v, v, squares);
  }
  const float factor = rms_factor(gpu::block_sum<kWarps>(squares, room), a.width, a.eps);
  // `out` may be x, so each thread reads again only numbers that it wrote itself.
  for (int64_t i = threadIdx.x; i < a.width; i += kThreads)
    put_number(a.out, out + i, x[i] * factor * a.weight[i]);
}

__global__ void __launch_bounds__(kThreads) rms_short_rows(const __grid_constant__ RmsRows a) {
  const int64_t item = int64_t{blockIdx.x} * kWarps + threadIdx.x / 32;
  const int lane = threadIdx.x % 32;
  if (item >= a.rows * a.groups) return;  // all threads of the warp take the same branch
  const int64_t row = item / a.groups, group = item % a.groups;
  float* x = a.x + row * a.x_stride + group * a.group_stride;
  const float* delta = a.delta ? a.delta + row * a.width : nullptr;
  const int64_t out = row * a.out_stride + group * a.group_stride;
  float squares = 0;
  for (int64_t i = lane; i < a.width; i += 32) {
    const float v = add_delta(x, delta, i);
    squares = fmaf(v, v, squares);
  }
  const float factor = rms_factor(gpu::warp_sum(squares), a.width, a.eps);
  for (int64_t i = lane; i < a.width; i += 32)
    put_number(a.out, out + i, x[i] * factor * a.weight[i]);
}

void run(StepContext& ctx, const RmsRows& a) {
  if (a.width <= kShortNorm) {
    gpu::launch("rms_norm", rms_short_rows, gpu::blocks_for(a.rows * a.groups, kWarps), kThreads, 0,
                stream_of(ctx), a);
  } else {
    const auto kernel = a.width <= 4 * kThreads    ? rms_long_rows<4>
                        : a.width <= 8 * kThreads  ? rms_long_rows<8>
                        : a.width <= 16 * kThreads ? rms_long_rows<16>
                                                   : rms_longest_rows;
    gpu::launch("rms_norm", kernel, static_cast<unsigned>(a.rows), kThreads, 0, stream_of(ctx), a);
  }
}

__global__ void __launch_bounds__(kThreads)
    layer_norm_rows(const float* from, const float* weight, const float* bias, int64_t width,
                    float eps, RowsOut to) {
  __shared__ float room[kWarps];
  const float* x = from + blockIdx.x * width;
  const int64_t out = blockIdx.x * width;
  float total = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) total += x[i];
  const float mean = gpu::block_sum<kWarps>(total, room) / static_cast<float>(width);
  float squares = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads)
    squares = fmaf(x[i] - mean, x[i] - mean, squares);
  const float variance = gpu::block_sum<kWarps>(squares, room) / static_cast<float>(width);
  const float factor = 1.f / sqrtf(variance + eps);
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    const float y = (x[i] - mean) * factor;
    put_number(to, out + i, y * (weight ? weight[i] : 1.f) + (bias ? bias[i] : 0.f));
  }
}

}  // namespace

void rms_norm(StepContext& ctx, const View& x, const View& delta, const View& weight, float eps,
              const View& out) {
  const int64_t width = x.shape[1];
  run(ctx, {x.f32(), delta.empty() ? nullptr : delta.f32(), weight.f32(), rows_out(out), width,
            width, 1, 0, x.shape[0], width, eps});
}

void rms_norm_heads(StepContext& ctx, const HeadsView& x, const View& weight, float eps) {
  float* first = x.rows.f32() + x.offset;
  const RmsRows a{first,      nullptr,    weight.f32(), {first, nullptr},
                  x.stride(), x.stride(), x.heads,      x.dim,
                  x.count(),  x.dim,      eps};
  // A head always has one warp, even if longer than kShortNorm: a block would be mostly idle.
  gpu::launch("rms_norm_heads", rms_short_rows, gpu::blocks_for(a.rows * a.groups, kWarps),
              kThreads, 0, stream_of(ctx), a);
}

void layer_norm(StepContext& ctx, const View& x, const View& weight, const View& bias, float eps,
                const View& out) {
  gpu::launch("layer_norm", layer_norm_rows, static_cast<unsigned>(x.shape[0]), kThreads, 0,
              stream_of(ctx), x.f32(), weight.empty() ? nullptr : weight.f32(),
              bias.empty() ? nullptr : bias.f32(), x.shape[1], eps, rows_out(out));
}

}  // namespace syrinx::cuda
