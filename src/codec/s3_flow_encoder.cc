#include "codec/s3_flow_encoder.h"

#include <cmath>

#include "codec/s3_flow_parts.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr float kLeak = 0.01f;       // torch's default slope of a leaky ReLU
constexpr float kBlockEps = 1e-12f;  // epsilon of the norms inside blocks

}  // namespace

S3FlowEncoder::S3FlowEncoder(const S3FlowConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  const int64_t width = config.width, chunk = config.chunk;
  tokens_ = Embedding(weights.scope("input_embedding"), config.vocab, width,
                      type == WeightType::kF32 ? DType::kF32 : DType::kBF16);
  const Weights w = weights.scope("encoder");
  embed_ = load_embed(w.scope("embed"), type);
  up_embed_ = load_embed(w.scope("up_embed"), type);
  const Weights look = w.scope("pre_lookahead_layer"), up = w.scope("up_layer");
  const int64_t taps = config.lookahead + 1;
  ahead_ = {look.take("conv1.weight", {width, width, taps}),
            look.take("conv1.bias", {width}),
            {.ahead = config.lookahead, .type = for_convolution(type)}};
  back_ = {look.take("conv2.weight", {width, width, 3}),
           look.take("conv2.bias", {width}),
           {.type = for_convolution(type)}};
  up_ = {up.take("conv.weight", {width, width, 2 * config.ratio + 1}),
         up.take("conv.bias", {width}),
         {.type = for_convolution(type)}};
  for (int64_t i = 0; i < config.layers; ++i) {
    layers_.push_back(load_layer(w.scope("encoders", i), chunk, type));
  }
  for (int64_t i = 0; i < config.up_layers; ++i) {
    up_layers_.push_back(load_layer(w.scope("up_encoders", i), config.chunk_frames(), type));
  }
  norm_ = LayerNorm(w.scope("after_norm"), width, kFlowNormEps);
  out_ = load_linear(weights, "encoder_proj", config.mel, width, true, type);
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
              up_.open(),
              RowQueue(config_.width),
              RowQueue(config_.width),
              {}};
  state.caches.resize(layers_.size() + up_layers_.size());
  for (size_t i = 0; i < state.caches.size(); ++i) {
    state.caches[i].most = i < layers_.size() ? most : most * config_.ratio;
  }
  return state;
}

S3FlowEncoder::State S3FlowEncoder::State::clone() const {
  return {ahead.clone(), back.clone(), up.clone(), skip, ready, caches};
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
  const View x = embed(ctx, embed_, rows);
  state.skip.push(x);
  const View seen = convolve_rows(ctx, ahead_, x, last, state.ahead);
  leaky_relu(ctx, seen, kLeak, seen);
  const View out = take_rows(ctx, seen.shape[0], config_.width);
  back_.run(ctx, seen, state.back, out);
  state.skip.pop_into_sum(out);
  state.ready.push(out);
}

void S3FlowEncoder::drop_waiting(State& state) const {
  state.ahead = ahead_.open();
  state.skip = RowQueue(config_.width);
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
  const int64_t width = config_.width, frames = tokens * config_.ratio;
  const View out = take_rows(ctx, frames, config_.mel);
  Arena::Mark mark(ctx.arena);
  const View x = state.ready.pop(ctx, tokens);
  size_t cache = 0;
  for (const Layer& layer : layers_) run(ctx, layer, x, state.caches[cache++]);
  const View repeated = take_rows(ctx, frames, width), raised = take_rows(ctx, frames, width);
  for (int64_t i = 0; i < frames; ++i) {
    std::copy_n(x.f32() + i / config_.ratio * width, width, repeated.f32() + i * width);
  }
  up_.run(ctx, repeated, state.up, raised);
  const View y = embed(ctx, up_embed_, raised);
  for (const Layer& layer : up_layers_) run(ctx, layer, y, state.caches[cache++]);
  norm_(ctx, y, y);
  linear(ctx, out_, y, out);
  return out;
}

size_t S3FlowEncoder::bytes() const {
  size_t sum = tokens_.bytes() + embed_.linear.bytes() + up_embed_.linear.bytes() + ahead_.bytes() +
               back_.bytes() + up_.bytes() + out_.bytes();
  for (const auto* layers : {&layers_, &up_layers_}) {
    for (const Layer& layer : *layers) {
      sum += layer.attention.bytes() + layer.up.bytes() + layer.down.bytes();
    }
  }
  return sum;
}

}  // namespace syrinx
