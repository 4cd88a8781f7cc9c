// Arithmetic of solvers. CFG-zero*: one block per row.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/solver.h"
#include "kernels/cuda/state.h"

namespace syrinx::cuda {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;

struct WeightedSum {
  float a, b;
  const float *x, *y;
  float* out;
  __device__ void operator()(int64_t i) const { out[i] = a * x[i] + b * y[i]; }
};

__global__ void __launch_bounds__(kThreads)
    zero_star_rows(float* c, const float* u, const float* scales, int64_t width) {
  __shared__ float room[kWarps];
  float* with = c + blockIdx.x * width;
  const float *without = u + blockIdx.x * width, scale = scales[blockIdx.x];
  if (scale == 1) return;
  float dot = 0, power = 0;
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    dot = fmaf(with[i], without[i], dot);
    power = fmaf(without[i], without[i], power);
  }
  dot = gpu::block_sum<kWarps>(dot, room);
  power = gpu::block_sum<kWarps>(power, room);
  const float factor = dot / (power + 1e-8f);
  for (int64_t i = threadIdx.x; i < width; i += kThreads) {
    const float base = without[i] * factor;
    with[i] = base + scale * (with[i] - base);
  }
}

}  // namespace

void weighted_sum(StepContext& ctx, float a, const View& x, float b, const View& y,
                  const View& out) {
  for_each(ctx, "weighted_sum", out.count(), WeightedSum{a, b, x.f32(), y.f32(), out.f32()});
}

void guide_zero_star(StepContext& ctx, const View& c, const View& u, const View& scales) {
  gpu::launch("zero_star_rows", zero_star_rows, static_cast<unsigned>(c.shape[0]), kThreads, 0,
              stream_of(ctx), c.f32(), u.f32(), scales.f32(), c.shape[1]);
}

}  // namespace syrinx::cuda
