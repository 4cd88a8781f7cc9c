#include "nn/convnext.h"

#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx {

ConvNeXt::ConvNeXt(const ConvNeXtConfig& c, const Weights& weights, WeightType type) {
  const int64_t wide = c.channels * c.expansion;
  const Weights conv = weights.scope(c.depthwise);
  depthwise_ = CausalConv1d(conv.take("weight", {c.channels, 1, c.taps}),
                            conv.take("bias", {c.channels}), {.groups = c.channels});
  norm_ = LayerNorm(weights.scope("norm"), c.channels, c.eps);
  up_ = load_linear(weights, "pwconv1", wide, c.channels, true, type);
  down_ = load_linear_scaled(weights, "pwconv2", c.channels, wide, true,
                             weights.f32("gamma", {c.channels}), type);
}

void ConvNeXt::move_to(Device device) { syrinx::move_to(device, depthwise_, norm_, up_, down_); }

void ConvNeXt::run(StepContext& ctx, std::span<const ConvJob> jobs) const {
  int64_t rows = 0;
  for (const ConvJob& job : jobs) rows += job.x.shape[0];
  if (rows == 0) return;
  const int64_t channels = depthwise_.out();
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View y = ctx.arena.take({rows, channels}, DType::kF32);
  const View wide = ctx.arena.take({rows, up_.out()}, DType::kF32);
  // The rows of all jobs are contiguous, so that each linear runs once over all of them.
  const std::span<ConvJob> inner = take_array<ConvJob>(ctx, std::ssize(jobs));
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, std::ssize(jobs));
  int64_t at = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    const int64_t t = jobs[i].x.shape[0];
    expect_shape("convnext", jobs[i].out, {t, channels});
    inner[i] = {jobs[i].x, jobs[i].state, y.slice(at, at + t)};
    at += t;
  }
  depthwise_.run(ctx, inner);
  norm_(ctx, y, y);
  linear(ctx, up_, y, wide);
  activate(ctx, Activation::kGelu, wide, wide);
  at = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {  // adds the branch to the residual in `out`
    copies[i] = {jobs[i].x.f32(), y.f32() + at * channels, jobs[i].x.count()};
    at += jobs[i].x.shape[0];
  }
  copy_spans(ctx, copies);
  linear_add(ctx, down_, wide, y);
  at = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    copies[i] = {y.f32() + at * channels, jobs[i].out.f32(), jobs[i].out.count()};
    at += jobs[i].x.shape[0];
  }
  copy_spans(ctx, copies);
}

}  // namespace syrinx
