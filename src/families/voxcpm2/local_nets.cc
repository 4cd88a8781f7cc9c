#include "families/voxcpm2/local_nets.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/solver.h"
#include "nn/stream_pass.h"

namespace syrinx::voxcpm2 {
namespace {

/// The number of first steps in which the solver does not change x (CFG-zero*).
constexpr int kStillSteps = 1;

}  // namespace

LocalEncoder::LocalEncoder(const ModelConfig& config, const Weights& root, WeightType type)
    : config_(config) {
  const Weights w = root.scope("feat_encoder");
  const int64_t width = config.encoder.hidden;
  in_ = load_linear(w, "in_proj", width, config.latent(), true, at_least_8_bits(type));
  first_ = Tensor({width}, DType::kF32);
  std::copy_n(w.f32("special_token", {1, 1, 1, width}).f32(), width, first_.f32());
  decoder_ = Decoder(config.encoder, w.scope("encoder"), type);
  to_lm_ = load_linear(root, "enc_to_lm_proj", config.base.hidden, width, true, type);
}

void LocalEncoder::move_to(Device device) {
  syrinx::move_to(device, in_, to_lm_, first_, decoder_);
}

void LocalEncoder::run(StepContext& ctx, const View& patches, const View& out) const {
  const int64_t count = patches.shape[0], p = config_.patch, width = config_.encoder.hidden;
  if (count == 0) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View frames = take_rows(ctx, count * p, width), x = take_rows(ctx, count * (p + 1), width);
  linear(ctx, in_, patches.reshape({count * p, config_.latent()}), frames);
  const std::span<int32_t> firsts = take_array<int32_t>(ctx, count);
  const std::span<CopySpan> parts = take_array<CopySpan>(ctx, 2 * count);
  for (int64_t i = 0; i < count; ++i) {
    firsts[i] = static_cast<int32_t>(i * (p + 1));
    float* to = x.f32() + i * (p + 1) * width;
    parts[2 * i] = {first_.f32(), to, width};
    parts[2 * i + 1] = {frames.f32() + i * p * width, to + width, p * width};
  }
  copy_spans(ctx, parts);
  run_whole(ctx, decoder_, x, {0, config_.encoder.layers}, p + 1);
  const View top = take_rows(ctx, count, width);
  decoder_.norm_rows(ctx, x, firsts, top);
  linear(ctx, to_lm_, top, out);
}

LocalDit::LocalDit(const ModelConfig& config, const Weights& root, WeightType type)
    : config_(config), times_(solver_times()) {
  const Weights w = root.scope("feat_decoder").scope("estimator");
  const int64_t width = config.dit.hidden, lm = config.base.hidden, latent = config.latent();
  const WeightType small = at_least_8_bits(type);
  lm_ = load_linear(root, "lm_to_dit_proj", width, lm, true, small);
  residual_ = load_linear(root, "res_to_dit_proj", width, lm, true, small);
  in_ = load_linear(w, "in_proj", width, latent, true, small);
  before_ = load_linear(w, "cond_proj", width, latent, true, small);
  out_ = load_linear(w, "out_proj", latent, width, true, small);
  decoder_ = Decoder(config.dit, w.scope("decoder"), type);
  embed_times(w);
}

/// Returns the solver's times, from 1 to 0 with growing steps (sway sampling with coefficient 1),
/// rounded like in torch.
LocalDit::Times LocalDit::solver_times() {
  constexpr int kN = kSolverSteps;
  constexpr float kStep = -1.f / kN;
  float span[kN + 1];
  for (int i = 0; i <= kN; ++i) {
    const float even =
        i < (kN + 1) / 2 ? 1 + kStep * static_cast<float>(i) : -kStep * static_cast<float>(kN - i);
    const float turned = std::cos(static_cast<float>(std::numbers::pi / 2) * even);
    span[i] = even + (turned - 1 + even);
  }
  Times times;
  float t = span[0];
  for (int i = 0; i < kN; ++i) {
    times.t[i] = t;
    t -= t - span[i + 1];
  }
  times.t[kN] = t;
  return times;
}

/// Computes the network's input for each time of the solver. It is the same for every request.
void LocalDit::embed_times(const Weights& estimator) {
  const int64_t width = config_.dit.hidden, half = width / 2;
  // The last row embeds the network's second input, the length of a step, always 0 in this model.
  Tensor waves({kSolverSteps + 1, width}, DType::kF32);
  const float slope = static_cast<float>(std::log(10000.0) / static_cast<double>(half - 1));
  for (int64_t s = 0; s <= kSolverSteps; ++s) {
    const float time = s < kSolverSteps ? 1000 * times_.t[s] : 0;
    for (int64_t i = 0; i < half; ++i) {
      const float angle = time * std::exp(static_cast<float>(i) * -slope);
      waves.f32()[s * width + i] = std::sin(angle);
      waves.f32()[s * width + half + i] = std::cos(angle);
    }
  }
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  const auto embed = [&](const char* name, const View& x, const View& out) {
    const Weights mlp = estimator.scope(name);
    const View inner = take_rows(ctx, x.shape[0], width);
    const auto layer = [&](const char* part) {
      return load_linear(mlp, part, width, width, true, WeightType::kF32);
    };
    linear(ctx, layer("linear_1"), x, inner);
    activate(ctx, Activation::kSilu, inner, inner);
    linear(ctx, layer("linear_2"), inner, out);
  };
  time_rows_ = Tensor({kSolverSteps, width}, DType::kF32);
  const View delta = take_rows(ctx, 1, width);
  embed("time_mlp", waves.view().slice(0, kSolverSteps), time_rows_);
  embed("delta_time_mlp", waves.view().slice(kSolverSteps, kSolverSteps + 1), delta);
  add_bias_inplace(ctx, time_rows_, delta.reshape({width}));
}

void LocalDit::move_to(Device device) {
  syrinx::move_to(device, lm_, residual_, in_, before_, out_, decoder_, time_rows_);
}

void LocalDit::run(StepContext& ctx, const View& hidden, const View& past, const View& scales,
                   const View& x) const {
  const int64_t e = x.shape[0], p = config_.patch, latent = config_.latent(), size = p * latent;
  const int64_t width = config_.dit.hidden, lm = config_.base.hidden;
  const bool guided = !scales.empty();
  expect_shape("local dit", x, {e, size});
  expect_shape("local dit", past, {e, size});
  expect_shape("local dit", hidden, {e, 2 * lm});
  const Arena::Mark mark(ctx.arena);
  // With guidance, rows [e, 2 e) are the patches again, without the condition.
  const int64_t n = guided ? 2 * e : e, condition_width = (2 + p) * width;
  const View condition = take_rows(ctx, n, condition_width), at = take_rows(ctx, n, size),
             v = take_rows(ctx, n, size);
  const View now = at.slice(0, e), speed = v.slice(0, e);
  fill_zeros(ctx, condition);
  {
    const Arena::Mark inner_mark(ctx.arena), host_mark(ctx.host);
    const View half = take_rows(ctx, e, lm), made = take_rows(ctx, e, width);
    const std::span<CopySpan> parts = take_array<CopySpan>(ctx, n);
    for (const int64_t side : {0, 1}) {
      for (int64_t i = 0; i < e; ++i)
        parts[i] = {hidden.f32() + (2 * i + side) * lm, half.f32() + i * lm, lm};
      copy_spans(ctx, parts.first(static_cast<size_t>(e)));
      linear(ctx, side == 0 ? lm_ : residual_, half, made);
      for (int64_t i = 0; i < e; ++i)
        parts[i] = {made.f32() + i * width, condition.f32() + i * condition_width + side * width,
                    width};
      copy_spans(ctx, parts.first(static_cast<size_t>(e)));
    }
    const View seen = take_rows(ctx, e * p, width);
    linear(ctx, before_, past.reshape({e * p, latent}), seen);
    for (int64_t i = 0; i < n; ++i) {
      parts[i] = {seen.f32() + i % e * p * width, condition.f32() + i * condition_width + 2 * width,
                  p * width};
    }
    copy_spans(ctx, parts);
  }
  copy(ctx, x, now);
  for (int step = kStillSteps; step < kSolverSteps; ++step) {
    if (guided) copy(ctx, now, at.slice(e, n));
    estimate(ctx, step, condition, at, v);
    if (guided) guide_zero_star(ctx, speed, v.slice(e, n), scales);
    weighted_sum(ctx, 1, now, times_.t[step + 1] - times_.t[step], speed, now);
  }
  copy(ctx, now, x);
}

void LocalDit::estimate(StepContext& ctx, int step, const View& condition, const View& x,
                        const View& v) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t rows = x.shape[0], p = config_.patch, width = config_.dit.hidden;
  const int64_t length = 3 + 2 * p;  // 2 rows of the language models, 1 of time, P + P of patches
  const View frames = take_rows(ctx, rows * p, width), all = take_rows(ctx, rows * length, width);
  linear(ctx, in_, x.reshape({rows * p, config_.latent()}), frames);
  const std::span<int32_t> wanted = take_array<int32_t>(ctx, rows * p);
  const std::span<CopySpan> parts = take_array<CopySpan>(ctx, 4 * rows);
  for (int64_t i = 0; i < rows; ++i) {
    const float* from = condition.f32() + i * condition.shape[1];
    float* to = all.f32() + i * length * width;
    parts[4 * i] = {from, to, 2 * width};
    parts[4 * i + 1] = {time_rows_.f32() + step * width, to + 2 * width, width};
    parts[4 * i + 2] = {from + 2 * width, to + 3 * width, p * width};
    parts[4 * i + 3] = {frames.f32() + i * p * width, to + (3 + p) * width, p * width};
    for (int64_t k = 0; k < p; ++k)
      wanted[i * p + k] = static_cast<int32_t>(i * length + 3 + p + k);
  }
  copy_spans(ctx, parts);
  run_whole(ctx, decoder_, all, {0, config_.dit.layers}, length);
  decoder_.norm_rows(ctx, all, wanted, frames);
  linear(ctx, out_, frames, v.reshape({rows * p, config_.latent()}));
}

}  // namespace syrinx::voxcpm2
