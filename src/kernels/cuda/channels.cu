// Norms of channels over all rows. A block adds a part of the rows for 32 channels; then one thread
// per channel adds the parts in their order.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

constexpr int kWarp = 32, kWarps = 8;
constexpr int64_t kPartRows = 512;

/// Adds d and d^2 over the rows of a part, with d = x - x[0], into parts [parts, 2, width].
__global__ void __launch_bounds__(kWarp* kWarps)
    add_channels(const float* x, int64_t rows, int64_t width, double* parts) {
  __shared__ double room[kWarps][2][kWarp];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  const int64_t c = int64_t{blockIdx.x} * kWarp + lane, part = blockIdx.y;
  double sum = 0, squares = 0;
  if (c < width) {
    const float pivot = x[c];
    const int64_t end = rows < (part + 1) * kPartRows ? rows : (part + 1) * kPartRows;
    for (int64_t t = part * kPartRows + warp; t < end; t += kWarps) {
      const double d = double{x[t * width + c]} - pivot;
      sum += d;
      squares += d * d;
    }
  }
  room[warp][0][lane] = sum;
  room[warp][1][lane] = squares;
  __syncthreads();
  if (warp != 0 || c >= width) return;
  for (int w = 1; w < kWarps; ++w) {
    sum += room[w][0][lane];
    squares += room[w][1][lane];
  }
  parts[2 * part * width + c] = sum;
  parts[(2 * part + 1) * width + c] = squares;
}

struct NormalisingScale {
  const double* parts;
  const float *pivot, *gain, *shift;
  float *factor, *summand;
  int64_t count, rows, width;
  float eps;
  __device__ void operator()(int64_t c) const {
    double sum = 0, squares = 0;
    for (int64_t p = 0; p < count; ++p) {
      sum += parts[2 * p * width + c];
      squares += parts[(2 * p + 1) * width + c];
    }
    const auto n = static_cast<double>(rows);
    const double off = sum / n, spread = squares / n - off * off;
    const double scale = gain[c] / ::sqrt((spread > 0 ? spread : 0.0) + double{eps});
    summand[c] = static_cast<float>(shift[c] - (pivot[c] + off) * scale);
    factor[c] = static_cast<float>(scale);
  }
};

/// The same for groups of `each` channels with a common mean and variance.
struct GroupScale {
  const double* parts;
  const float *pivot, *gain, *shift;
  float *factor, *summand;
  int64_t count, rows, width, each;
  float eps;
  __device__ double sum_of(int64_t row, int64_t c) const {
    double sum = 0;
    for (int64_t p = 0; p < count; ++p) sum += parts[(2 * p + row) * width + c];
    return sum;
  }
  __device__ void operator()(int64_t c) const {
    const int64_t begin = c - row_and_column(c, each).column, end = begin + each;
    const auto n = static_cast<double>(rows);
    double total = 0, power = 0;
    for (int64_t i = begin; i < end; ++i) total += sum_of(0, i) + n * pivot[i];
    const double mean = total / (n * static_cast<double>(each));
    for (int64_t i = begin; i < end; ++i) {
      const double off = mean - pivot[i];
      power += sum_of(1, i) - 2 * off * sum_of(0, i) + n * off * off;
    }
    const double spread = power / (n * static_cast<double>(each));
    const double scale = gain[c] / ::sqrt((spread > 0 ? spread : 0.0) + double{eps});
    summand[c] = static_cast<float>(shift[c] - mean * scale);
    factor[c] = static_cast<float>(scale);
  }
};

/// Queues add_channels; returns its parts, of which there are `count`.
double* add_rows(StepContext& ctx, const View& x, unsigned count) {
  const int64_t rows = x.shape[0], width = x.shape[1];
  auto* parts = take<double>(ctx, 2 * count * width);
  gpu::launch("add_channels", add_channels, dim3(gpu::blocks_for(width, kWarp), count),
              kWarp * kWarps, 0, stream_of(ctx), x.f32(), rows, width, parts);
  return parts;
}

struct ScaleChannels {
  const float *x, *factor, *summand, *alpha, *inv_beta;
  float* out;
  int64_t width;
  __device__ void operator()(int64_t i) const {
    const int64_t c = row_and_column(i, width).column;
    const float y = x[i] * factor[c] + summand[c];
    if (!alpha) {
      out[i] = y;
      return;
    }
    const float s = sinf(alpha[c] * y);
    out[i] = y + s * s * inv_beta[c];
  }
};

}  // namespace

void normalising_scale(StepContext& ctx, const View& x, const View& gain, const View& shift,
                       float eps, const View& factor, const View& summand) {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], width = x.shape[1];
  const unsigned count = gpu::blocks_for(rows, kPartRows);
  const double* parts = add_rows(ctx, x, count);
  for_each(ctx, "normalising_scale", width,
           NormalisingScale{parts, x.f32(), gain.f32(), shift.f32(), factor.f32(), summand.f32(),
                            count, rows, width, eps});
}

void group_norm(StepContext& ctx, const View& x, const View& weight, const View& bias,
                int64_t groups, float eps) {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], width = x.shape[1];
  const unsigned count = gpu::blocks_for(rows, kPartRows);
  const double* parts = add_rows(ctx, x, count);
  const View factor = ctx.arena.take({width}, DType::kF32);
  const View summand = ctx.arena.take({width}, DType::kF32);
  for_each(ctx, "group_scale", width,
           GroupScale{parts, x.f32(), weight.f32(), bias.f32(), factor.f32(), summand.f32(), count,
                      rows, width, width / groups, eps});
  scale_channels(ctx, x, factor, summand, {}, {}, x);
}

void scale_channels(StepContext& ctx, const View& x, const View& factor, const View& summand,
                    const View& alpha, const View& inv_beta, const View& out) {
  for_each(
      ctx, "scale_channels", x.count(),
      ScaleChannels{x.f32(), factor.f32(), summand.f32(), alpha.empty() ? nullptr : alpha.f32(),
                    inv_beta.empty() ? nullptr : inv_beta.f32(), out.f32(), x.shape[1]});
}

}  // namespace syrinx::cuda
