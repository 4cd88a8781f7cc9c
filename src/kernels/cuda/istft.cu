// The inverse STFT of vocoder heads. First every sample of a frame is computed by the definition,
// because frames are short and few. Then frames are overlapped and added, sample by sample in the
// order of the frames.
#include "kernels/cuda/elementwise.cuh"
#include "kernels/cuda/kernels.h"

namespace syrinx::cuda {
namespace {

/// Computes frames[f, i] = window[i] * irfft(spectrum[f])[i]. Angles are multiples of 1 / n.
struct InverseFrame {
  const float *spectrum, *window;
  float* frames;
  int n;
  __device__ void operator()(int64_t item) const {
    const int64_t f = item / n;
    const int i = static_cast<int>(item % n), half = n / 2;
    const float* s = spectrum + f * (half + 1) * 2;
    double sum = s[0] + (i % 2 ? -s[2 * half] : s[2 * half]);
    const double step = 2.0 / n;
    for (int k = 1; k < half; ++k) {
      const int turn = static_cast<int>(int64_t{i} * k % n);
      double c, d;
      // cos and sin of pi * turn * step.
      c = ::cos(3.14159265358979323846 * turn * step);
      d = ::sin(3.14159265358979323846 * turn * step);
      sum += 2.0 * (s[2 * k] * c - s[2 * k + 1] * d);
    }
    frames[item] = static_cast<float>(sum / n) * window[i];
  }
};

/// Computes, for position p of the stream (0 is the beginning of the first frame), the sums of
/// samples and of squared windows. Adds the sums of the state first, then frame by frame.
struct OverlapAdd {
  const float *frames, *window;
  float* sums;  // [2][frames * hop + n]
  const float* state;
  int64_t count, total;
  int n, hop;
  __device__ void operator()(int64_t p) const {
    float sum = p < n ? state[p] : 0.f, weight = p < n ? state[n + p] : 0.f;
    const int64_t first = p < n ? 0 : (p - n) / hop + 1;
    for (int64_t f = first; f < count && f * hop <= p; ++f) {
      const int64_t i = p - f * hop;
      sum += frames[f * n + i];
      weight += window[i] * window[i];
    }
    sums[p] = sum;
    sums[total + p] = weight;
  }
};

struct PutOut {
  const float* sums;
  float *out, *state;
  int64_t done, total;  // number of final samples, and number of positions
  int n;
  __device__ void operator()(int64_t p) const {
    const float sum = sums[p], weight = sums[total + p];
    if (p < done) {
      out[p] = weight > 1e-11f ? sum / weight : sum;
    } else {
      state[p - done] = sum;
      state[n + p - done] = weight;
    }
  }
};

}  // namespace

void inverse_stft(StepContext& ctx, const View& spectrum, int n_fft, int hop,
                  std::span<const float> window_numbers, const View& state, const View& out) {
  const Arena::Mark mark(ctx.arena);
  const int64_t count = spectrum.shape[0], done = count * hop, total = done + n_fft;
  if (count == 0) return;
  const float* window = upload(ctx, window_numbers);
  auto* frames = take<float>(ctx, count * n_fft);
  auto* sums = take<float>(ctx, 2 * total);
  for_each(ctx, "inverse_frame", count * n_fft,
           InverseFrame{spectrum.f32(), window, frames, n_fft});
  for_each(ctx, "overlap_add", total,
           OverlapAdd{frames, window, sums, state.f32(), count, total, n_fft, hop});
  for_each(ctx, "istft_out", total, PutOut{sums, out.f32(), state.f32(), done, total, n_fft});
}

}  // namespace syrinx::cuda
