#include "nn/conv.h"

#include <cstring>

namespace syrinx {
namespace {

/// past + x of each job and `zeros` rows in one contiguous stretch [held + T + zeros, C], x alone
/// when nothing else is there.
View join(StepContext& ctx, const ConvJob& job, int64_t channels, int64_t zeros) {
  ConvState& state = *job.state;
  const int64_t t = job.x.shape[0];
  expect_shape("causal conv x", job.x, Shape{t, channels});
  if (state.held == 0 && zeros == 0) return job.x;
  const size_t row = static_cast<size_t>(channels) * sizeof(float);
  View all = ctx.arena.take(Shape{state.held + t + zeros, channels}, DType::kF32);
  if (state.held > 0) std::memcpy(all.f32(), state.past.f32(), row * state.held);
  if (t > 0) std::memcpy(all.f32() + state.held * channels, job.x.f32(), row * t);
  if (zeros > 0) std::memset(all.f32() + (state.held + t) * channels, 0, row * zeros);
  return all;
}

/// The rows of `all` from `used` on are what the next call needs.
void keep(const View& all, int64_t used, ConvState& state) {
  const int64_t channels = all.shape[1], held = all.shape[0] - used;
  SYRINX_CHECK(held >= 0 && held <= state.past.shape()[0], "conv state holds ", held, " rows of ",
               state.past.shape().str());
  if (held > 0) {
    std::memcpy(state.past.f32(), all.f32() + used * channels,
                static_cast<size_t>(held * channels) * sizeof(float));
  }
  state.held = held;
  state.fresh = false;
}

/// Segments of the jobs that have anything to compute, in the arena.
std::span<ConvSegment> take_segments(StepContext& ctx, size_t count) {
  View memory =
      ctx.arena.take(Shape{static_cast<int64_t>(count * sizeof(ConvSegment))}, DType::kU8);
  auto* first = static_cast<ConvSegment*>(memory.data);
  for (size_t i = 0; i < count; ++i) new (first + i) ConvSegment();
  return {first, count};
}

}  // namespace

ConvState ConvState::clone() const {
  ConvState copy;
  copy.past = past.clone();
  copy.held = held;
  copy.fresh = fresh;
  return copy;
}

CausalConv1d::CausalConv1d(const View& weight, const View& bias, const CausalConv1dOptions& options)
    : packed_(PackedConv1d::pack(weight, bias, options.groups, options.type)),
      options_(options),
      window_(conv_window(packed_.taps(), options.dilation)) {
  SYRINX_CHECK(
      options.stride >= 1 && options.ahead >= 0 && options.stride + options.ahead <= window_,
      "causal conv: stride ", options.stride, " and ", options.ahead, " ahead of a window of ",
      window_);
  SYRINX_CHECK(options.ahead == 0 || options.pad == ConvPad::kZero,
               "causal conv: only zeros stand right of the last input");
}

ConvState CausalConv1d::open() const {
  return ConvState(window_ - 1, packed_.in(), window_ - options_.stride - options_.ahead);
}

int64_t CausalConv1d::rows(const ConvState& state, int64_t t, bool last) const {
  return conv_rows(state.held + t + (last ? options_.ahead : 0), packed_.taps(), options_.dilation,
                   options_.stride);
}

void CausalConv1d::run(StepContext& ctx, std::span<const ConvJob> jobs) const {
  Arena::Mark mark(ctx.arena);
  std::span<ConvSegment> segments = take_segments(ctx, jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    ConvState& state = *jobs[i].state;
    if (options_.pad == ConvPad::kReplicate && state.fresh && jobs[i].x.shape[0] > 0) {
      const int64_t channels = packed_.in();
      for (int64_t r = 0; r < state.held; ++r) {
        std::memcpy(state.past.f32() + r * channels, jobs[i].x.f32(), channels * sizeof(float));
      }
    }
    segments[i] = {join(ctx, jobs[i], packed_.in(), jobs[i].last ? options_.ahead : 0),
                   jobs[i].out};
  }
  conv1d(ctx, packed_, segments, options_.dilation, options_.stride);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].x.shape[0] == 0 || jobs[i].last) continue;
    keep(segments[i].x, segments[i].out.shape[0] * options_.stride, *jobs[i].state);
  }
}

void CausalConv1d::run(StepContext& ctx, const View& x, ConvState& state, const View& out) const {
  const ConvJob job{x, &state, out};
  run(ctx, std::span(&job, 1));
}

CausalConvTranspose1d::CausalConvTranspose1d(const View& weight, const View& bias, int64_t stride,
                                             WeightType type, int64_t crop, int64_t groups)
    : packed_(PackedConvTranspose1d::pack(weight, stride, bias, type, groups)), crop_(crop) {
  SYRINX_CHECK(crop >= 0 && crop <= stride, "causal conv: crops ", crop, " of a stride of ",
               stride);
}

ConvState CausalConvTranspose1d::open() const {
  return ConvState(packed_.window() - 1, packed_.in(), packed_.window() - 1);
}

int64_t CausalConvTranspose1d::rows(const ConvState& state, int64_t t, bool last) const {
  if (t == 0 && (state.fresh || !last)) return 0;
  return t * packed_.stride() - (state.fresh ? crop_ : 0) + (last ? crop_ : 0);
}

void CausalConvTranspose1d::run(StepContext& ctx, std::span<const ConvJob> jobs) const {
  Arena::Mark mark(ctx.arena);
  const int64_t stride = packed_.stride();
  std::span<ConvSegment> segments = take_segments(ctx, jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ConvJob& job = jobs[i];
    const int64_t t = job.x.shape[0];
    expect_shape("causal conv out", job.out, Shape{rows(*job.state, t, job.last), packed_.out()});
    if (job.out.shape[0] == 0 && t == 0) {
      segments[i] = {ctx.arena.take({0, packed_.in()}, DType::kF32), job.out};
      continue;
    }
    const int64_t zeros = job.last && crop_ > 0 ? 1 : 0;
    segments[i] = {join(ctx, job, packed_.in(), zeros), job.out};
    if (crop_ > 0 && (job.state->fresh || job.last)) {  // whole rows first, then the part of them
      segments[i].out = ctx.arena.take({(t + zeros) * stride, packed_.out()}, DType::kF32);
    }
  }
  conv_transpose1d(ctx, packed_, segments);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ConvJob& job = jobs[i];
    if (segments[i].out.data != job.out.data && job.out.count() > 0) {
      const int64_t skip = job.state->fresh ? crop_ : 0;
      std::memcpy(job.out.f32(), segments[i].out.f32() + skip * packed_.out(), job.out.bytes());
    }
    if (job.x.shape[0] == 0 || job.last) continue;
    keep(segments[i].x, job.x.shape[0], *job.state);
  }
}

void CausalConvTranspose1d::run(StepContext& ctx, const View& x, ConvState& state,
                                const View& out) const {
  const ConvJob job{x, &state, out};
  run(ctx, std::span(&job, 1));
}

}  // namespace syrinx
