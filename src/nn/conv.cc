#include "nn/conv.h"

#include <cstring>

namespace syrinx {
namespace {

/// past + x of each job in one contiguous stretch [held + T, C], x alone when nothing is held.
View join(StepContext& ctx, const ConvJob& job, int64_t channels) {
  ConvState& state = *job.state;
  const int64_t t = job.x.shape[0];
  expect_shape("causal conv x", job.x, Shape{t, channels});
  if (state.held == 0) return job.x;
  const size_t row = static_cast<size_t>(channels) * sizeof(float);
  View all = ctx.arena.take(Shape{state.held + t, channels}, DType::kF32);
  std::memcpy(all.f32(), state.past.f32(), row * state.held);
  if (t > 0) std::memcpy(all.f32() + state.held * channels, job.x.f32(), row * t);
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
  SYRINX_CHECK(options.stride >= 1 && options.stride <= window_, "causal conv: stride ",
               options.stride, " of a window of ", window_);
}

ConvState CausalConv1d::open() const {
  return ConvState(window_ - 1, packed_.in(), window_ - options_.stride);
}

int64_t CausalConv1d::rows(const ConvState& state, int64_t t) const {
  return conv_rows(state.held + t, packed_.taps(), options_.dilation, options_.stride);
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
    segments[i] = {join(ctx, jobs[i], packed_.in()), jobs[i].out};
  }
  conv1d(ctx, packed_, segments, options_.dilation, options_.stride);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].x.shape[0] == 0) continue;
    keep(segments[i].x, segments[i].out.shape[0] * options_.stride, *jobs[i].state);
  }
}

void CausalConv1d::run(StepContext& ctx, const View& x, ConvState& state, const View& out) const {
  const ConvJob job{x, &state, out};
  run(ctx, std::span(&job, 1));
}

CausalConvTranspose1d::CausalConvTranspose1d(const View& weight, const View& bias, int64_t stride,
                                             WeightType type, int64_t groups)
    : packed_(PackedConvTranspose1d::pack(weight, stride, bias, type, groups)) {}

ConvState CausalConvTranspose1d::open() const {
  return ConvState(packed_.window() - 1, packed_.in(), packed_.window() - 1);
}

int64_t CausalConvTranspose1d::rows(const ConvState&, int64_t t) const {
  return t * packed_.stride();
}

void CausalConvTranspose1d::run(StepContext& ctx, std::span<const ConvJob> jobs) const {
  Arena::Mark mark(ctx.arena);
  std::span<ConvSegment> segments = take_segments(ctx, jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    segments[i] = {join(ctx, jobs[i], packed_.in()), jobs[i].out};
  }
  conv_transpose1d(ctx, packed_, segments);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].x.shape[0] == 0) continue;
    keep(segments[i].x, jobs[i].x.shape[0], *jobs[i].state);
  }
}

void CausalConvTranspose1d::run(StepContext& ctx, const View& x, ConvState& state,
                                const View& out) const {
  const ConvJob job{x, &state, out};
  run(ctx, std::span(&job, 1));
}

}  // namespace syrinx
