#include "codec/glm_flow_encoder.h"

#include <cmath>

#include "codec/glm_flow_parts.h"
#include "codec/matcha_parts.h"
#include "kernels/activation.h"

namespace syrinx {

GlmFlowEncoder::GlmFlowEncoder(const GlmFlowConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  const int64_t width = config.width, mel = config.mel;
  tokens_ = Embedding(weights.scope("input_embedding"), config.vocab, width,
                      type == WeightType::kF32 ? DType::kF32 : DType::kBF16);
  const Weights w = weights.scope("encoder"), regulator = weights.scope("length_regulator.model");
  embed_ = load_linear(w, "embed.out.0", width, width, true, type);
  embed_norm_ = LayerNorm(w.scope("embed.out.1"), width, kGlmFlowNormEps);
  for (int64_t i = 0; i < config.layers; ++i) {
    const Weights l = w.scope("encoders", i);
    layers_.push_back({LayerNorm(l.scope("norm_mha"), width, kGlmFlowNormEps),
                       LayerNorm(l.scope("norm_ff"), width, kGlmFlowNormEps),
                       RelAttention(l.scope("self_attn"), width, config.heads, config.block, type),
                       load_linear(l, "feed_forward.w_1", config.ffn, width, true, type),
                       load_linear(l, "feed_forward.w_2", width, config.ffn, true, type)});
  }
  norm_ = LayerNorm(w.scope("after_norm"), width, kGlmFlowNormEps);
  project_ = load_linear(weights, "encoder_proj", mel, width, true, type);
  // Modules: several times convolution, norm and activation; then a convolution of one tap.
  for (int64_t i = 0; i < config.regulators; ++i) {
    regulators_.push_back(
        {load_three_taps(regulator.scope(std::to_string(3 * i)), mel, mel, type),
         GroupNorm(regulator.scope(std::to_string(3 * i + 1)), mel, 1, kGlmFlowNormEps)});
  }
  out_ = load_one_tap(regulator.scope(std::to_string(3 * config.regulators)), mel, mel, type);
}

void GlmFlowEncoder::run(StepContext& ctx, const Layer& layer, const View& x,
                         RelAttention::Cache& cache) const {
  const Arena::Mark mark(ctx.arena);
  const View normed = ctx.arena.take(x.shape, DType::kF32);
  layer.before_attention(ctx, x, normed);
  layer.attention.run(ctx, normed, cache, x);
  layer.before_mlp(ctx, x, normed);
  const View inner = ctx.arena.take({x.shape[0], config_.ffn}, DType::kF32);
  linear(ctx, layer.up, normed, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear_add(ctx, layer.down, inner, x);
}

View GlmFlowEncoder::encode(StepContext& ctx, std::span<const int32_t> tokens) const {
  const auto count = std::ssize(tokens);
  SYRINX_CHECK(count > 0, "[glm_flow] expected at least one token");
  const View out = ctx.arena.take({config_.frames(count), config_.mel}, DType::kF32);
  const Arena::Mark mark(ctx.arena);
  const View rows = ctx.arena.take({count, config_.width}, DType::kF32);
  const View x = ctx.arena.take({count, config_.width}, DType::kF32);
  tokens_(ctx, tokens, rows);
  linear(ctx, embed_, rows, x);
  embed_norm_(ctx, x, x);
  scale_inplace(ctx, x, std::sqrt(static_cast<float>(config_.width)));
  std::vector<RelAttention::Cache> caches;
  for (const Layer& layer : layers_) caches.push_back(layer.attention.open());
  for (int64_t at = 0; at < count; at += config_.block) {
    const View block = x.slice(at, std::min(at + config_.block, count));
    for (size_t i = 0; i < layers_.size(); ++i) run(ctx, layers_[i], block, caches[i]);
  }
  norm_(ctx, x, x);
  const View mean = ctx.arena.take({count, config_.mel}, DType::kF32);
  linear(ctx, project_, x, mean);
  linear(ctx, out_, regulate(ctx, mean, out.shape[0]), out);
  return out;
}

/// Repeats or drops rows to get `frames` rows: the row of a frame is that of the token at the
/// frame's time. Then runs the convolutions.
View GlmFlowEncoder::regulate(StepContext& ctx, const View& x, int64_t frames) const {
  const int64_t tokens = x.shape[0], mel = config_.mel;
  View from = ctx.arena.take({frames, mel}, DType::kF32);
  View to = ctx.arena.take({frames, mel}, DType::kF32);
  const float scale = static_cast<float>(tokens) / static_cast<float>(frames);
  for (int64_t t = 0; t < frames; ++t) {
    const auto token = static_cast<int64_t>(std::floor(static_cast<float>(t) * scale));
    std::copy_n(x.f32() + std::min(token, tokens - 1) * mel, mel, from.f32() + t * mel);
  }
  for (const Regulator& layer : regulators_) {
    convolve_each(ctx, layer.conv, from, 1, to);
    layer.norm(ctx, to);
    activate(ctx, Activation::kMish, to, to);
    std::swap(from, to);
  }
  return from;
}

size_t GlmFlowEncoder::bytes() const {
  size_t sum = tokens_.bytes() + embed_.bytes() + project_.bytes() + out_.bytes();
  for (const Layer& layer : layers_)
    sum += layer.attention.bytes() + layer.up.bytes() + layer.down.bytes();
  for (const Regulator& layer : regulators_) sum += layer.conv.bytes();
  return sum;
}

}  // namespace syrinx
