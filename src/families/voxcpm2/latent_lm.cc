#include "families/voxcpm2/latent_lm.h"

#include <algorithm>
#include <cmath>

#include "families/voxcpm2/state.h"
#include "kernels/activation.h"
#include "kernels/embedding.h"
#include "kernels/sample.h"
#include "model/input_rows.h"
#include "nn/cache_type.h"
#include "nn/stream_pass.h"

namespace syrinx::voxcpm2 {
namespace {

constexpr uint32_t kNoiseStream = 0;

/// Returns the layout of the cache of both language models; the base model's layers come first.
KvSpec cache_of(const ModelConfig& config, WeightType type) {
  KvSpec spec = config.base.kv_spec(cache_type(type));
  spec.layers += config.residual.layers;
  return spec;
}

/// Writes the rows of x [N, H] and y [N, H] side by side.
void join_rows(const View& x, const View& y, const View& out) {
  const int64_t width = x.shape[1];
  for (int64_t i = 0; i < x.shape[0]; ++i) {
    float* to = std::copy_n(x.f32() + i * width, width, out.f32() + i * 2 * width);
    std::copy_n(y.f32() + i * width, width, to);
  }
}

void scatter_rows(const View& from, std::span<const int32_t> rows, const View& to) {
  const int64_t width = to.shape[1];
  for (size_t i = 0; i < rows.size(); ++i)
    std::copy_n(from.f32() + static_cast<int64_t>(i) * width, width, to.f32() + rows[i] * width);
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

size_t LatentLm::joint_bytes() const {
  return fsq_in_.bytes() + fsq_out_.bytes() + fusion_.bytes() + stop_.bytes() + stop_head_.bytes();
}

LatentLm::Inputs LatentLm::embed_rows(StepContext& ctx, const ArBatch& batch) const {
  const int64_t n = batch.rows, h = config_.base.hidden, size = config_.patch_width();
  const View x = take_rows(ctx, n, h), patches = take_rows(ctx, n, h);
  const std::span<int32_t> audio = take_array<int32_t>(ctx, n);
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const BatchRows made_of = fill_rows(ctx, batch, 1);
  const View latents = take_rows(ctx, n, size);
  int64_t count = 0;
  for (int64_t row = 0; row < n; ++row) {
    const GivenRow patch = made_of.given[static_cast<size_t>(row)];
    if (patch.empty()) continue;
    std::copy(patch.begin(), patch.end(), latents.f32() + count * size);
    audio[count++] = static_cast<int32_t>(row);
  }
  const std::span<const int32_t> rows = audio.first(count);
  embed_sum(ctx, std::span(&table_, 1), made_of.ids, x);
  std::fill_n(patches.f32(), patches.count(), 0.f);
  const View made = take_rows(ctx, count, h);
  encoder_.run(ctx, latents.slice(0, count), made);
  scatter_rows(made, rows, patches);
  scatter_rows(made, rows, x);
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
  const auto scale = static_cast<float>(config_.fsq_scale);
  for (int64_t i = 0; i < small.count(); ++i)  // rounds ties to even, like torch
    small.f32()[i] = std::nearbyint(small.f32()[i] * scale) / scale;
  linear(ctx, fsq_out_, small, some);
  scatter_rows(some, rows, x);
}

void LatentLm::forward(StepContext& ctx, const ArBatch& batch, View hidden) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t n = batch.rows, h = config_.base.hidden;
  const Inputs in = embed_rows(ctx, batch);
  base_.forward(ctx, in.x, batch.ragged, batch.kv[0]);
  const View rows = take_rows(ctx, n, h), both = take_rows(ctx, n, 2 * h);
  base_.norm(ctx, in.x, rows);
  round(ctx, rows, in.audio);
  join_rows(rows, in.patches, both);
  linear(ctx, fusion_, both, in.x);
  residual_.forward(ctx, in.x, batch.ragged, batch.kv[0], config_.base.layers);
  if (batch.emits == 0) return;
  const std::span<const int32_t> last = emitting_rows(ctx, batch);
  const View lm = take_rows(ctx, batch.emits, h), residual = take_rows(ctx, batch.emits, h);
  gather_rows(ctx, rows, last, lm);
  residual_.norm_rows(ctx, in.x, last, residual);
  join_rows(lm, residual, hidden);
}

void LatentLm::logits(StepContext& ctx, int, const ArBatch& batch, View hidden, View,
                      View out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t h = config_.base.hidden;
  const View lm = take_rows(ctx, batch.emits, h), inner = take_rows(ctx, batch.emits, h);
  for (int64_t e = 0; e < batch.emits; ++e)
    std::copy_n(hidden.f32() + e * 2 * h, h, lm.f32() + e * h);
  linear(ctx, stop_, lm, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, stop_head_, inner, out);
}

void LatentLm::values(StepContext& ctx, const ArBatch& batch, View hidden, View, View out) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t size = config_.patch_width();
  const std::span<PatchJob> jobs = take_array<PatchJob>(ctx, batch.emits);
  const View noise = take_rows(ctx, batch.emits, size);
  int64_t e = 0;
  for (const ArSeq& seq : batch.seqs) {
    if (seq.emits == 0) continue;
    const State& state = static_cast<const State&>(*seq.state);
    const std::span<float> own(noise.f32() + e * size, static_cast<size_t>(size));
    philox_normal(state.seed(), static_cast<uint32_t>(state.steps()), kNoiseStream, own);
    for (float& x : own) x *= state.noise_scale();
    jobs[e++] = {state.last_patch(), own, state.guidance_scale()};
  }
  dit_.run(ctx, jobs, hidden, out);
}

}  // namespace syrinx::voxcpm2
