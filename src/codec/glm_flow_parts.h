// Functions that the encoder and the estimator of GLM-4-Voice's flow share.
#pragma once

#include "kernels/conv.h"
#include "kernels/copy.h"
#include "nn/layers.h"

namespace syrinx {

constexpr float kGlmFlowNormEps = 1e-5f;

/// Loads a convolution of three taps.
inline PackedConv1d load_three_taps(const Weights& w, int64_t out, int64_t in, WeightType type) {
  return PackedConv1d::pack(w.take("weight", {out, in, 3}), w.take("bias", {out}), 1,
                            for_convolution(type));
}

/// Copies x [count * T, C], which has `count` sequences, and adds a row of zeros before and after
/// each sequence: [count * (T + 2), C].
inline View with_borders(StepContext& ctx, const View& x, int64_t count) {
  const int64_t rows = x.shape[0] / count, width = x.shape[1];
  const View out = ctx.arena.take({count * (rows + 2), width}, DType::kF32);
  const Arena::Mark mark(ctx.host);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, 3 * count);
  float* to = out.f32();
  for (int64_t i = 0; i < count; ++i) {
    copies[3 * i] = {nullptr, to, width};
    copies[3 * i + 1] = {x.f32() + i * rows * width, to + width, rows * width};
    copies[3 * i + 2] = {nullptr, to + (rows + 1) * width, width};
    to += (rows + 2) * width;
  }
  copy_spans(ctx, copies);
  return out;
}

/// Runs a convolution of three taps on each of `count` sequences, padded with a row of zeros on
/// both sides; writes the result to `out`.
inline void convolve_each(StepContext& ctx, const PackedConv1d& conv, const View& x, int64_t count,
                          const View& out, int64_t stride = 1) {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View bordered = with_borders(ctx, x, count);
  const int64_t in = bordered.shape[0] / count, made = out.shape[0] / count;
  const std::span<ConvSegment> segments = take_array<ConvSegment>(ctx, count);
  for (int64_t i = 0; i < count; ++i)
    segments[i] = {bordered.slice(i * in, (i + 1) * in), out.slice(i * made, (i + 1) * made)};
  conv1d(ctx, conv, segments, 1, stride);
}

}  // namespace syrinx
