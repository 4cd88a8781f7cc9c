// The modulation of adaptive norms, one thread per number.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/solver.h"

namespace syrinx::cuda {
namespace {

struct Modulate {
  float* x;
  const float* by;
  int64_t width, stride;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const float* shift = by + at.row * stride + at.column;
    x[i] = x[i] * (1 + shift[width]) + shift[0];
  }
};

struct AddGated {
  float* x;
  const float *y, *by;
  int64_t width;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    x[i] += by[(3 * at.row + 2) * width + at.column] * y[i];
  }
};

}  // namespace

void modulate(StepContext& ctx, const View& x, const View& by) {
  for_each(ctx, "modulate", x.count(), Modulate{x.f32(), by.f32(), x.shape[1], by.shape[1]});
}

void add_gated(StepContext& ctx, const View& x, const View& y, const View& by) {
  for_each(ctx, "add_gated", x.count(), AddGated{x.f32(), y.f32(), by.f32(), x.shape[1]});
}

}  // namespace syrinx::cuda
