#include "codec/s3_flow_encoder.h"

#include <cmath>

#include "codec/s3_flow_parts.h"
#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx {
namespace {

constexpr float kLeak = 0.01f;       // torch's default slope of a leaky ReLU
constexpr float kBlockEps = 1e-12f;  // epsilon of the norms inside blocks

}  // namespace

S3FlowEncoder::S3FlowEncoder(const S3FlowConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  const int64_t width = config.width, plain = config.plain_channels;
  tokens_ = Embedding(weights.scope("input_embedding"), config.vocab, width,
                      type == WeightType::kF32 ? DType::kF32 : DType::kBF16);
  const Weights look = weights.scope(plain ? "pre_lookahead_layer" : "encoder.pre_lookahead_layer");
  const int64_t taps = config.lookahead + 1, inner = plain ? plain : width;
  ahead_ = {look.take("conv1.weight", {inner, width, taps}),
            look.take("conv1.bias", {inner}),
            {.ahead = config.lookahead, .type = for_convolution(type)}};
  back_ = {look.take("conv2.weight", {width, inner, 3}),
           look.take("conv2.bias", {width}),
           {.type = for_convolution(type)}};
  if (!plain) conformer_ = load_conformer(weights, type);
  SYRINX_CHECK(conformer_ || width == config.mel,
               "[s3_flow] a plain encoder must have the width of the mel, got ", width);
}

S3FlowEncoder::Conformer S3FlowEncoder::load_conformer(const Weights& weights,
                                                       WeightType type) const {
  const int64_t width = config_.width;
  const Weights w = weights.scope("encoder"), up = w.scope("up_layer");
  Conformer c{load_embed(w.scope("embed"), type),
              load_embed(w.scope("up_embed"), type),
              {up.take("conv.weight", {width, width, 2 * config_.ratio + 1}),
               up.take("conv.bias", {width}),
               {.type = for_convolution(type)}},
              {},
              {},
              LayerNorm(w.scope("after_norm"), width, kFlowNormEps),
              load_linear(weights, "encoder_proj", config_.mel, width, true, type)};
  for (int64_t i = 0; i < config_.layers; ++i) {
    c.layers.push_back(load_layer(w.scope("encoders", i), config_.chunk, type));
  }
  for (int64_t i = 0; i < config_.up_layers; ++i) {
    c.up_layers.push_back(load_layer(w.scope("up_encoders", i), config_.chunk_frames(), type));
  }
  return c;
}

S3FlowEncoder::Layer S3FlowEncoder::load_layer(const Weights& w, int64_t chunk,
                                               WeightType type) const {
  const int64_t width = config_.width;
  return {LayerNorm(w.scope("norm_mha"), width, kBlockEps),
          LayerNorm(w.scope("norm_ff"), width, kBlockEps),
          RelAttention(w.scope("self_attn"), width, config_.heads, chunk, type),
          load_linear(w, "feed_forward.w_1", config_.ffn, width, true, type),
          load_linear(w, "feed_forward.w_2", width, config_.ffn, true, type)};
}

S3FlowEncoder::Embed S3FlowEncoder::load_embed(const Weights& w, WeightType type) const {
  return {load_linear(w, "out.0", config_.width, config_.width, true, type),
          LayerNorm(w.scope("out.1"), config_.width, kFlowNormEps)};
}

S3FlowEncoder::State S3FlowEncoder::open(int64_t most) const {
  State state{ahead_.open(),
              back_.open(),
              conformer_ ? conformer_->up.open() : ConvState(),
              RowQueue(config_.width, ahead_.device()),
              RowQueue(config_.width, ahead_.device()),
              {}};
  if (!conformer_) return state;
  for (const Layer& layer : conformer_->layers) state.caches.push_back(layer.attention.open(most));
  for (const Layer& layer : conformer_->up_layers)
    state.caches.push_back(layer.attention.open(most * config_.ratio));
  return state;
}

S3FlowEncoder::State S3FlowEncoder::State::clone() const {
  State copy{ahead.clone(), back.clone(), up.clone(), skip.clone(), ready.clone(), {}};
  for (const RelAttention::Cache& cache : caches) copy.caches.push_back(cache.clone());
  return copy;
}

View S3FlowEncoder::embed(StepContext& ctx, const Embed& layer, const View& x) const {
  const View out = take_rows(ctx, x.shape[0], config_.width);
  linear(ctx, layer.linear, x, out);
  layer.norm(ctx, out, out);
  scale_inplace(ctx, out, std::sqrt(static_cast<float>(config_.width)));
  return out;
}

void S3FlowEncoder::push(StepContext& ctx, std::span<const int32_t> tokens, bool last,
                         State& state) const {
  Arena::Mark mark(ctx.arena);
  const View rows = take_rows(ctx, static_cast<int64_t>(tokens.size()), config_.width);
  tokens_(ctx, tokens, rows);
  const View x = conformer_ ? embed(ctx, conformer_->embed, rows) : rows;
  state.skip.push(ctx, x);
  const View seen = convolve_rows(ctx, ahead_, x, last, state.ahead);
  leaky_relu(ctx, seen, kLeak, seen);
  const View out = take_rows(ctx, seen.shape[0], config_.width);
  back_.run(ctx, seen, state.back, out);
  state.skip.pop_into_sum(ctx, out);
  state.ready.push(ctx, out);
}

void S3FlowEncoder::drop_waiting(StepContext& ctx, State& state) const {
  synchronize(ctx);
  state.ahead = ahead_.open();
  state.skip = RowQueue(config_.width, ahead_.device());
}

void S3FlowEncoder::run(StepContext& ctx, const Layer& layer, const View& x,
                        RelAttention::Cache& cache) const {
  Arena::Mark mark(ctx.arena);
  const View normed = take_rows(ctx, x.shape[0], config_.width);
  layer.before_attention(ctx, x, normed);
  layer.attention.run(ctx, normed, cache, x);
  layer.before_mlp(ctx, x, normed);
  const View inner = take_rows(ctx, x.shape[0], config_.ffn);
  linear(ctx, layer.up, normed, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear_add(ctx, layer.down, inner, x);
}

View S3FlowEncoder::encode(StepContext& ctx, int64_t tokens, State& state) const {
  if (!conformer_) return repeated(ctx, state.ready.pop(ctx, tokens));
  const Conformer& c = *conformer_;
  const int64_t frames = tokens * config_.ratio;
  const View out = take_rows(ctx, frames, config_.mel);
  Arena::Mark mark(ctx.arena);
  const View x = state.ready.pop(ctx, tokens);
  size_t cache = 0;
  for (const Layer& layer : c.layers) run(ctx, layer, x, state.caches[cache++]);
  const View raised = take_rows(ctx, frames, config_.width);
  c.up.run(ctx, repeated(ctx, x), state.up, raised);
  const View y = embed(ctx, c.up_embed, raised);
  for (const Layer& layer : c.up_layers) run(ctx, layer, y, state.caches[cache++]);
  c.norm(ctx, y, y);
  linear(ctx, c.out, y, out);
  return out;
}

/// Repeats every row of x `ratio` times.
View S3FlowEncoder::repeated(StepContext& ctx, const View& x) const {
  const int64_t width = config_.width, frames = x.shape[0] * config_.ratio;
  const View out = take_rows(ctx, frames, width);
  // A row of the result is a row of x, `ratio` times.
  for (int64_t i = 0; i < config_.ratio; ++i)
    copy_columns(ctx, x, i * width, out.reshape({x.shape[0], config_.ratio * width}));
  return out;
}

void S3FlowEncoder::move_to(Device device) {
  syrinx::move_to(device, tokens_, ahead_, back_);
  if (!conformer_) return;
  Conformer& c = *conformer_;
  syrinx::move_to(device, c.embed, c.up_embed, c.up, c.layers, c.up_layers, c.norm, c.out);
}

size_t S3FlowEncoder::bytes() const {
  size_t sum = tokens_.bytes() + ahead_.bytes() + back_.bytes();
  if (!conformer_) return sum;
  const Conformer& c = *conformer_;
  sum += c.embed.linear.bytes() + c.up_embed.linear.bytes() + c.up.bytes() + c.out.bytes();
  for (const auto* layers : {&c.layers, &c.up_layers}) {
    for (const Layer& layer : *layers) {
      sum += layer.attention.bytes() + layer.up.bytes() + layer.down.bytes();
    }
  }
  return sum;
}

}  // namespace syrinx
