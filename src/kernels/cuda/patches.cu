// What encoders of recordings need beside products. Windows of convolutions and means of rows have
// one thread per number. A block chooses the code of a row.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"
#include "kernels/patches.h"

namespace syrinx::cuda {
namespace {

constexpr int64_t kTaps = 3, kStride = 2;
constexpr int kThreads = 256;

struct GatherPatches {
  const float* planes;
  float* out;
  int64_t first, times, bands, channels, times_out, bands_out;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, kTaps * kTaps * channels);
    const RowColumn tap = row_and_column(at.column, channels);  // the tap, and the channel
    const RowColumn band = row_and_column(first + at.row, bands_out);
    const RowColumn time = row_and_column(band.row, times_out);  // the plane, and the time
    const int64_t t = time.column * kStride + tap.row / kTaps - 1;
    const int64_t b = band.column * kStride + tap.row % kTaps - 1;
    const bool inside = t >= 0 && t < times && b >= 0 && b < bands;
    out[i] = inside ? planes[((time.row * times + t) * bands + b) * channels + tap.column] : 0.f;
  }
};

struct DepthwisePatches {
  const float *x, *taps, *bias;
  float* out;
  int64_t bands, inputs, lead, bands_out, channels;  // inputs: 1, or the number of channels
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, channels);
    const RowColumn band = row_and_column(at.row, bands_out);  // the row, and the band
    const int64_t channel = inputs == 1 ? 0 : at.column;
    float sum = bias[at.column];
    for (int64_t t = 0; t < kTaps * kTaps; ++t) {
      const int64_t from = band.column * kStride + t % kTaps - lead;
      if (from < 0 || from >= bands) continue;
      const int64_t time = band.row * kStride + t / kTaps;
      sum += taps[t * channels + at.column] * x[(time * bands + from) * inputs + channel];
    }
    out[i] = sum;
  }
};

struct ChannelsFirst {
  const float* x;
  float* out;
  int64_t bands, channels;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, bands);
    const RowColumn channel = row_and_column(at.row, channels);  // the row, and the channel
    out[i] = x[(channel.row * bands + at.column) * channels + channel.column];
  }
};

struct Multiply {
  float* x;
  const float* y;
  __device__ void operator()(int64_t i) const { x[i] *= y[i]; }
};

struct MeanRows {
  const float* x;
  float* out;
  int64_t each, width;
  __device__ void operator()(int64_t i) const {
    const RowColumn at = row_and_column(i, width);
    const float* from = x + at.row * each * width + at.column;
    float sum = from[0];
    for (int64_t r = 1; r < each; ++r) sum += from[r * width];
    out[i] = sum / static_cast<float>(each);
  }
};

/// A score and its index, of which the larger score is chosen, or else the lower index.
struct Best {
  float score;
  int32_t index;
};

__device__ inline Best better(const Best& a, const Best& b) {
  return b.score > a.score || (b.score == a.score && b.index < a.index) ? b : a;
}

__global__ void __launch_bounds__(kThreads)
    subtract_largest_row(const float* scores, int64_t count, const float* entries, float* x,
                         int64_t width, int32_t* codes, int64_t stride) {
  __shared__ Best room[kThreads / 32];
  const int64_t row = blockIdx.x;
  const auto thread = static_cast<int32_t>(threadIdx.x);
  Best best{-INFINITY, thread < count ? thread : 0};
  for (int64_t i = thread; i < count; i += kThreads)
    best = better(best, {scores[row * count + i], static_cast<int32_t>(i)});
  for (int step = 16; step > 0; step /= 2) {
    best = better(best, {__shfl_xor_sync(gpu::kFullWarp, best.score, step),
                         __shfl_xor_sync(gpu::kFullWarp, best.index, step)});
  }
  if (thread % 32 == 0) room[thread / 32] = best;
  __syncthreads();
  best = room[0];
  for (int w = 1; w < kThreads / 32; ++w) best = better(best, room[w]);
  if (thread == 0) codes[row * stride] = best.index;
  for (int64_t i = thread; i < width; i += kThreads)
    x[row * width + i] -= entries[best.index * width + i];
}

}  // namespace

void gather_patches(StepContext& ctx, const View& planes, int64_t first, const View& out) {
  const int64_t times = planes.shape[1], bands = planes.shape[2];
  for_each(ctx, "gather_patches", out.count(),
           GatherPatches{planes.f32(), out.f32(), first, times, bands, planes.shape[3],
                         halved(times), halved(bands)});
}

void depthwise_patches(StepContext& ctx, const View& x, const View& taps, const View& bias,
                       int64_t lead, const View& out) {
  for_each(ctx, "depthwise_patches", out.count(),
           DepthwisePatches{x.f32(), taps.f32(), bias.f32(), out.f32(), x.shape[1], x.shape[2],
                            lead, out.shape[1], out.shape[2]});
}

void channels_first(StepContext& ctx, const View& x, const View& out) {
  for_each(ctx, "channels_first", x.count(),
           ChannelsFirst{x.f32(), out.f32(), x.shape[1], x.shape[2]});
}

void multiply(StepContext& ctx, const View& x, const View& y) {
  for_each(ctx, "multiply", x.count(), Multiply{x.f32(), y.f32()});
}

void mean_rows(StepContext& ctx, const View& x, int64_t each, const View& out) {
  for_each(ctx, "mean_rows", out.count(), MeanRows{x.f32(), out.f32(), each, x.shape[1]});
}

void subtract_largest(StepContext& ctx, const View& scores, const View& entries, const View& x,
                      const View& codes, int64_t column) {
  const bool subtracts = !x.empty();
  gpu::launch("subtract_largest", subtract_largest_row, static_cast<unsigned>(scores.shape[0]),
              kThreads, 0, stream_of(ctx), scores.f32(), scores.shape[1],
              subtracts ? entries.f32() : nullptr, subtracts ? x.f32() : nullptr,
              subtracts ? x.shape[1] : int64_t{0}, codes.i32() + column, codes.shape[1]);
}

}  // namespace syrinx::cuda
