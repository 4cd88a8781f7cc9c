#include "nn/conv.h"

#include "kernels/copy.h"

namespace syrinx {
namespace {

/// A list of copies that run in one call, in ctx.host. The constructor sets its capacity.
class Copies {
 public:
  Copies(StepContext& ctx, size_t most)
      : spans_(take_array<CopySpan>(ctx, static_cast<int64_t>(most))) {}
  void add(const float* from, float* to, int64_t count, float slope = 1) {
    if (count > 0) spans_[used_++] = {from, to, count, slope};
  }
  void run(StepContext& ctx) {
    copy_spans(ctx, spans_.first(used_));
    used_ = 0;
  }

 private:
  std::span<CopySpan> spans_;
  size_t used_ = 0;
};

/// Returns past, leaky_relu(x, slope) and `zeros` zero rows of a job as one matrix: [held + T +
/// zeros, C]; x itself if it is all. Adds up to three copies.
View join(StepContext& ctx, const ConvJob& job, int64_t channels, int64_t zeros, Copies& copies,
          float slope = 1) {
  ConvState& state = *job.state;
  const int64_t t = job.x.shape[0];
  expect_shape("causal conv x", job.x, Shape{t, channels});
  if (state.held == 0 && zeros == 0 && slope == 1) return job.x;
  const View all = ctx.arena.take(Shape{state.held + t + zeros, channels}, DType::kF32);
  copies.add(state.past.f32(), all.f32(), state.held * channels);
  copies.add(job.x.f32(), all.f32() + state.held * channels, t * channels, slope);
  copies.add(nullptr, all.f32() + (state.held + t) * channels, zeros * channels);
  return all;
}

/// Keeps the rows of `all` from `used` on, because the next call needs them.
void keep(const View& all, int64_t used, ConvState& state, Copies& copies) {
  const int64_t channels = all.shape[1], held = all.shape[0] - used;
  SYRINX_CHECK(held >= 0 && held <= state.past.shape()[0], "conv state has ", held,
               " rows, but space for ", state.past.shape().str());
  copies.add(all.f32() + used * channels, state.past.f32(), held * channels);
  state.held = held;
  state.fresh = false;
}

/// Returns the numbers of a layer's past, rounded up to 64 bytes.
int64_t padded_count(const CausalConv1d& layer) {
  return (layer.past_rows() * layer.in() + 15) / 16 * 16;
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
      "causal conv: stride ", options.stride, " and ", options.ahead,
      " ahead do not fit a window of ", window_);
  SYRINX_CHECK(options.ahead == 0 || options.pad == ConvPad::kZero,
               "causal conv: padding after the last input must be zeros");
}

ConvState CausalConv1d::open() const {
  return ConvState(window_ - 1, packed_.in(), window_ - options_.stride - options_.ahead, device());
}

ConvState CausalConv1d::open(Tensor memory) const {
  expect_shape("causal conv past", memory, {window_ - 1, packed_.in()});
  ConvState state;
  state.past = std::move(memory);
  state.held = window_ - options_.stride - options_.ahead;
  return state;
}

int64_t CausalConv1d::rows(const ConvState& state, int64_t t, bool last) const {
  return conv_rows(state.held + t + (last ? options_.ahead : 0), packed_.taps(), options_.dilation,
                   options_.stride);
}

void CausalConv1d::run(StepContext& ctx, std::span<const ConvJob> jobs, float slope) const {
  SYRINX_CHECK(slope == 1 || options_.pad == ConvPad::kZero,
               "causal conv: a leaky ReLU needs padding with zeros");
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const std::span<ConvSegment> segments = take_array<ConvSegment>(ctx, std::ssize(jobs));
  Copies copies(ctx, 3 * jobs.size());
  for (const ConvJob& job : jobs) pad_front(ctx, job);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int64_t zeros = jobs[i].last ? options_.ahead : 0;
    segments[i] = {join(ctx, jobs[i], packed_.in(), zeros, copies, slope), jobs[i].out};
  }
  copies.run(ctx);
  conv1d(ctx, packed_, segments, options_.dilation, options_.stride);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (jobs[i].x.shape[0] == 0 || jobs[i].last) continue;
    keep(segments[i].x, segments[i].out.shape[0] * options_.stride, *jobs[i].state, copies);
  }
  copies.run(ctx);
}

/// If the layer pads with its first inputs, fills the past of a new stream with copies of them.
void CausalConv1d::pad_front(StepContext& ctx, const ConvJob& job) const {
  ConvState& state = *job.state;
  if (options_.pad == ConvPad::kZero || !state.fresh || job.x.shape[0] == 0) return;
  const bool mirrored = options_.pad == ConvPad::kReflect;
  SYRINX_CHECK(!mirrored || job.x.shape[0] > state.held, "causal conv: ", job.x.shape[0],
               " rows are too few to mirror ", state.held);
  const int64_t channels = packed_.in();
  Copies copies(ctx, static_cast<size_t>(state.held));
  for (int64_t r = 0; r < state.held; ++r) {
    const int64_t from = mirrored ? state.held - r : 0;
    copies.add(job.x.f32() + from * channels, state.past.f32() + r * channels, channels);
  }
  copies.run(ctx);
}

void CausalConv1d::run(StepContext& ctx, const View& x, ConvState& state, const View& out) const {
  const ConvJob job{x, &state, out};
  run(ctx, std::span(&job, 1));
}

ConvStates::ConvStates(std::span<const CausalConv1d* const> layers) {
  int64_t count = 0;
  for (const CausalConv1d* layer : layers) count += padded_count(*layer);
  memory_ = std::make_shared<Tensor>(Shape{count}, DType::kF32, layers[0]->device());
  float* at = memory_->f32();
  for (const CausalConv1d* layer : layers) {
    const View past{at, DType::kF32, {layer->past_rows(), layer->in()}, memory_->device()};
    states_.push_back(layer->open(Tensor(past, memory_)));
    at += padded_count(*layer);
  }
}

std::vector<ConvState> ConvStates::in(const View& memory) const {
  std::vector<ConvState> out(states_.size());
  for (size_t i = 0; i < out.size(); ++i) {
    View past = states_[i].past;
    past.data = memory.f32() + (past.f32() - memory_->f32());
    out[i].past = Tensor(past, nullptr);
    out[i].held = states_[i].held;
    out[i].fresh = states_[i].fresh;
  }
  return out;
}

ConvStates ConvStates::clone() const {
  ConvStates copy;
  if (!memory_) return copy;
  copy.memory_ = std::make_shared<Tensor>(memory_->clone());
  copy.states_ = in(*copy.memory_);
  for (ConvState& state : copy.states_) state.past = Tensor(state.past.view(), copy.memory_);
  return copy;
}

CausalConvTranspose1d::CausalConvTranspose1d(const View& weight, const View& bias, int64_t stride,
                                             WeightType type, int64_t crop, int64_t groups)
    : packed_(PackedConvTranspose1d::pack(weight, stride, bias, type, groups)), crop_(crop) {
  SYRINX_CHECK(crop >= 0 && crop <= stride, "causal conv: crop ", crop, " exceeds the stride ",
               stride);
}

ConvState CausalConvTranspose1d::open() const {
  return ConvState(packed_.window() - 1, packed_.in(), packed_.window() - 1, device());
}

int64_t CausalConvTranspose1d::rows(const ConvState& state, int64_t t, bool last) const {
  if (t == 0 && (state.fresh || !last)) return 0;
  return t * packed_.stride() - (state.fresh ? crop_ : 0) + (last ? crop_ : 0);
}

void CausalConvTranspose1d::run(StepContext& ctx, std::span<const ConvJob> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t stride = packed_.stride();
  const std::span<ConvSegment> segments = take_array<ConvSegment>(ctx, std::ssize(jobs));
  Copies copies(ctx, 3 * jobs.size());
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ConvJob& job = jobs[i];
    const int64_t t = job.x.shape[0];
    expect_shape("causal conv out", job.out, Shape{rows(*job.state, t, job.last), packed_.out()});
    if (job.out.shape[0] == 0 && t == 0) {
      segments[i] = {ctx.arena.take({0, packed_.in()}, DType::kF32), job.out};
      continue;
    }
    const int64_t zeros = job.last && crop_ > 0 ? 1 : 0;
    segments[i] = {join(ctx, job, packed_.in(), zeros, copies), job.out};
    // Writes whole rows to scratch memory, then copies the part that is needed.
    if (crop_ > 0 && (job.state->fresh || job.last)) {
      segments[i].out = ctx.arena.take({(t + zeros) * stride, packed_.out()}, DType::kF32);
    }
  }
  copies.run(ctx);
  conv_transpose1d(ctx, packed_, segments);
  for (size_t i = 0; i < jobs.size(); ++i) {
    const ConvJob& job = jobs[i];
    if (segments[i].out.data != job.out.data && job.out.count() > 0) {
      const int64_t skip = job.state->fresh ? crop_ : 0;
      copies.add(segments[i].out.f32() + skip * packed_.out(), job.out.f32(), job.out.count());
    }
    if (job.x.shape[0] == 0 || job.last) continue;
    keep(segments[i].x, job.x.shape[0], *job.state, copies);
  }
  copies.run(ctx);
}

void CausalConvTranspose1d::run(StepContext& ctx, const View& x, ConvState& state,
                                const View& out) const {
  const ConvJob job{x, &state, out};
  run(ctx, std::span(&job, 1));
}

}  // namespace syrinx
