#include "families/voxcpm2/latent_lm.h"

#include <algorithm>

#include "families/scatter_rows.h"
#include "families/voxcpm2/state.h"
#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/embedding.h"
#include "kernels/levels.h"
#include "kernels/solver.h"
#include "model/input_rows.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::voxcpm2 {
namespace {

/// Returns the layout of the cache of both language models; the base model's layers come first.
KvSpec cache_of(const ModelConfig& config, WeightType type) {
  KvSpec spec = config.base.kv_spec(cache_type(type));
  spec.layers += config.residual.layers;
  return spec;
}

/// Writes the rows of x [N, H] and y [N, H] side by side.
void join_rows(StepContext& ctx, const View& x, const View& y, const View& out) {
  const Arena::Mark host_mark(ctx.host);
  const int64_t width = x.shape[1];
  const std::span<CopySpan> halves = take_array<CopySpan>(ctx, 2 * x.shape[0]);
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    float* to = out.f32() + 2 * i * width;
    halves[2 * i] = {x.f32() + i * width, to, width};
    halves[2 * i + 1] = {y.f32() + i * width, to + width, width};
  }
  copy_spans(ctx, halves);
}

}  // namespace

LatentLm::LatentLm(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config),
      table_(weights.take("base_lm.embed_tokens.weight", {config.vocab, config.base.hidden})),
      base_(config.base, weights.scope("base_lm"), type),
      residual_(config.residual, weights.scope("residual_lm"), type),
      encoder_(config, weights, type),
      dit_(config, weights, type) {
  const int64_t h = config.base.hidden;
  const WeightType small = at_least_8_bits(type);
  const Weights fsq = weights.scope("fsq_layer");
  fsq_in_ = load_linear(fsq, "in_proj", config.fsq_width, h, true, small);
  fsq_out_ = load_linear(fsq, "out_proj", h, config.fsq_width, true, small);
  fusion_ = load_linear(weights, "fusion_concat_proj", h, 2 * h, true, small);
  stop_ = load_linear(weights, "stop_proj", h, h, true, small);
  stop_head_ = load_linear(weights, "stop_head", 2, h, false, small);
  traits_.hidden = static_cast<int>(2 * h);
  traits_.vocab = {2};
  traits_.kv = {cache_of(config, type)};
  traits_.max_positions = static_cast<int>(config.max_positions);
  traits_.values = static_cast<int>(config.patch_width());
}

LatentLm::Inputs LatentLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const int64_t n = batch.rows, h = config_.base.hidden, size = config_.patch_width();
  const View x = take_rows(ctx, n, h), patches = take_rows(ctx, n, h);
  const std::span<int32_t> audio = take_array<int32_t>(ctx, n);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const BatchRows made_of = fill_rows(ctx, batch, 1);
  const std::span<float> latents = take_array<float>(ctx, n * size);
  int64_t count = 0;
  for (int64_t row = 0; row < n; ++row) {
    const GivenRow patch = made_of.given[static_cast<size_t>(row)];
    if (patch.empty()) continue;
    std::ranges::copy(patch, latents.data() + count * size);
    audio[count++] = static_cast<int32_t>(row);
  }
  const std::span<const int32_t> rows = audio.first(count);
  embed_sum(ctx, std::span(&table_, 1), made_of.ids, x);
  fill_zeros(ctx, patches);
  const View made = take_rows(ctx, count, h);
  encoder_.run(ctx, upload(ctx, {latents.data(), DType::kF32, {count, size}}), made);
  scatter_rows(ctx, made, rows, patches);
  scatter_rows(ctx, made, rows, x);
  return {x, patches, rows};
}

/// Applies the rounding between the language models to the rows `rows` of x, in place.
void LatentLm::round(StepContext& ctx, const View& x, std::span<const int32_t> rows) const {
  if (rows.empty()) return;
  const Arena::Mark mark(ctx.arena);
  const View some = take_rows(ctx, std::ssize(rows), x.shape[1]);
  const View small = take_rows(ctx, some.shape[0], config_.fsq_width);
  gather_rows(ctx, x, rows, some);
  linear(ctx, fsq_in_, some, small);
  activate(ctx, Activation::kTanh, small, small);
  round_to_steps(ctx, small, static_cast<float>(config_.fsq_scale));
  linear(ctx, fsq_out_, small, some);
  scatter_rows(ctx, some, rows, x);
}

void LatentLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t n = batch.rows, h = config_.base.hidden;
  const Inputs in = embed_rows(ctx, batch);
  base_.forward(ctx, in.x, batch.ragged, batch.kv[0]);
  const View rows = take_rows(ctx, n, h), both = take_rows(ctx, n, 2 * h);
  base_.norm(ctx, in.x, rows);
  round(ctx, rows, in.audio);
  join_rows(ctx, rows, in.patches, both);
  linear(ctx, fusion_, both, in.x);
  residual_.forward(ctx, in.x, batch.ragged, batch.kv[0], config_.base.layers);
  if (batch.emits == 0) return;
  const std::span<const int32_t> last = emitting_rows(ctx, batch);
  const View lm = take_rows(ctx, batch.emits, h), residual = take_rows(ctx, batch.emits, h);
  gather_rows(ctx, rows, last, lm);
  residual_.norm_rows(ctx, in.x, last, residual);
  join_rows(ctx, lm, residual, hidden);
}

void LatentLm::logits(StepContext& ctx, int, const ArBatch& batch, View hidden, View,
                      View out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t h = config_.base.hidden;
  const View lm = take_rows(ctx, batch.emits, h), inner = take_rows(ctx, batch.emits, h);
  const std::span<CopySpan> halves = take_array<CopySpan>(ctx, batch.emits);
  for (int64_t e = 0; e < batch.emits; ++e)
    halves[e] = {hidden.f32() + e * 2 * h, lm.f32() + e * h, h};
  copy_spans(ctx, halves);
  linear(ctx, stop_, lm, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, stop_head_, inner, out);
}

void LatentLm::values(StepContext& ctx, const ArBatch& batch, View hidden, View, View out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const auto size = static_cast<size_t>(config_.patch_width());
  const auto states = emitting<State>(ctx, batch);
  const std::span<float> noise = draw_noise(ctx, states, config_.patch_width());
  const std::span<float> past = take_array<float>(ctx, std::ssize(noise)),
                         scales = take_array<float>(ctx, batch.emits);
  for (size_t e = 0; e < states.size(); ++e) {
    const std::span<const float> before = states[e]->last_patch();  // without one, zeros
    SYRINX_CHECK(before.empty() || before.size() == size, "[latent_lm] a patch of ", before.size(),
                 " numbers");
    std::ranges::copy(before, past.subspan(e * size).begin());
    scales[e] = states[e]->guidance_scale();
  }
  const bool guided = std::ranges::any_of(scales, [](float s) { return s != 1; });
  const auto there = [&](std::span<float> numbers, const Shape& shape) {
    return upload(ctx, {numbers.data(), DType::kF32, shape});
  };
  store(ctx, noise, out);
  dit_.run(ctx, hidden, there(past, out.shape), guided ? there(scales, {batch.emits}) : View{},
           out);
}

}  // namespace syrinx::voxcpm2
