#include "codec/fast_conformer.h"

#include <algorithm>
#include <cmath>

#include "kernels/activation.h"
#include "kernels/patches.h"

namespace syrinx {
namespace {

constexpr float kConformerEps = 1e-5f;  // epsilon of layer and batch norms

}  // namespace

FastConformer::FastConformer(const FastConformerConfig& config, const Weights& weights,
                             WeightType type)
    : config_(config) {
  for (int i = 0; i < config.layers; ++i) {
    layers_.push_back(load_layer(weights.scope("layers", i), type));
  }
}

FastConformer::Layer FastConformer::load_layer(const Weights& w, WeightType type) const {
  const int64_t width = config_.width, ffn = config_.ffn;
  Layer layer;
  const auto norm = [&](const char* name) {
    return LayerNorm(w.scope(name), width, kConformerEps);
  };
  layer.before_first = norm("norm_feed_forward1");
  layer.before_attention = norm("norm_self_att");
  layer.before_conv = norm("norm_conv");
  layer.before_second = norm("norm_feed_forward2");
  layer.norm = norm("norm_out");
  Tensor half({width}, DType::kF32);
  std::fill_n(half.f32(), width, 0.5f);
  const auto up = [&](const char* name) {
    return load_linear(w, concat(name, ".linear1"), ffn, width, config_.biased, type);
  };
  const auto down = [&](const char* name) {
    return load_linear_scaled(w, concat(name, ".linear2"), width, ffn, config_.biased, half, type);
  };
  layer.first_up = up("feed_forward1"), layer.first_down = down("feed_forward1");
  layer.second_up = up("feed_forward2"), layer.second_down = down("feed_forward2");
  static const RelNames kNames{.q = "q_proj",
                               .k = "k_proj",
                               .v = "v_proj",
                               .out = "o_proj",
                               .distance = "relative_k_proj",
                               .bias_u = "bias_u",
                               .bias_v = "bias_v"};
  RelNames names = kNames;
  names.biased = config_.biased;
  layer.attention =
      RelAttention(w.scope("self_attn"), width, config_.heads, config_.chunk, type, names);
  if (config_.left >= 0) layer.attention.prepare(config_.left + config_.chunk - 1);
  const Weights conv = w.scope("conv");
  const View wide = conv.take("pointwise_conv1.weight", {2 * width, width, 1});
  View bias;
  if (config_.conv_biased) bias = conv.take("pointwise_conv1.bias", {2 * width});
  const auto part = [&](int64_t i) {
    return PackedLinear::pack(wide.slice(i * width, (i + 1) * width).reshape({width, width}), type,
                              bias.empty() ? View{} : bias.slice(i * width, (i + 1) * width));
  };
  layer.value = part(0), layer.gate = part(1);
  layer.conv = load_conv(conv);
  if (config_.causal) layer.conv_norm = LayerNorm(conv.scope("norm"), width, kConformerEps);
  layer.conv_out = PackedLinear::pack(
      conv.take("pointwise_conv2.weight", {width, width, 1}).reshape({width, width}), type,
      config_.conv_biased ? conv.take("pointwise_conv2.bias", {width}) : View{});
  return layer;
}

/// Loads the depthwise convolution, merged with the batch norm that follows it.
CausalConv1d FastConformer::load_conv(const Weights& w) const {
  const int64_t width = config_.width, taps = config_.taps;
  Tensor weight = w.f32("depthwise_conv.weight", {width, 1, taps});
  Tensor bias({width}, DType::kF32);
  std::fill_n(bias.f32(), width, 0.f);
  if (config_.conv_biased) bias = w.f32("depthwise_conv.bias", {width});
  if (config_.causal) {
    return CausalConv1d(weight, bias, {.groups = width});
  }
  const Weights norm = w.scope("norm");
  const Tensor gain = norm.f32("weight", {width}), shift = norm.f32("bias", {width});
  const Tensor mean = norm.f32("running_mean", {width}), var = norm.f32("running_var", {width});
  norm.ignore("num_batches_tracked");
  for (int64_t c = 0; c < width; ++c) {
    const float scale = gain.f32()[c] / std::sqrt(var.f32()[c] + kConformerEps);
    for (int64_t t = 0; t < taps; ++t) weight.f32()[c * taps + t] *= scale;
    bias.f32()[c] = (bias.f32()[c] - mean.f32()[c]) * scale + shift.f32()[c];
  }
  return CausalConv1d(weight, bias, {.groups = width, .ahead = (taps - 1) / 2});
}

FastConformer::State FastConformer::open(int64_t chunk) const {
  SYRINX_CHECK(chunk > 0 && (config_.left < 0 || chunk <= config_.chunk),
               "[fast_conformer] unsupported chunks of ", chunk, " rows");
  State state;
  state.chunk = chunk;
  for (const Layer& layer : layers_) {
    state.caches.push_back(
        layer.attention.open(chunk, config_.left < 0 ? -1 : config_.left / chunk));
    state.convs.push_back(layer.conv.open());
  }
  return state;
}

void FastConformer::feed(StepContext& ctx, const LayerNorm& norm, const PackedLinear& up,
                         const PackedLinear& down, const View& x) const {
  const Arena::Mark mark(ctx.arena);
  const View normed = ctx.arena.take(x.shape, DType::kF32);
  const View inner = ctx.arena.take({x.shape[0], config_.ffn}, DType::kF32);
  norm(ctx, x, normed);
  linear(ctx, up, normed, inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear_add(ctx, down, inner, x);
}

void FastConformer::convolve(StepContext& ctx, const Layer& layer, size_t index, const View& x,
                             std::span<const Job> jobs) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const View normed = ctx.arena.take(x.shape, DType::kF32);
  const View value = ctx.arena.take(x.shape, DType::kF32);
  const View gate = ctx.arena.take(x.shape, DType::kF32);
  layer.before_conv(ctx, x, normed);
  linear(ctx, layer.value, normed, value);
  linear(ctx, layer.gate, normed, gate);
  activate(ctx, Activation::kSigmoid, gate, gate);
  multiply(ctx, value, gate);
  const std::span<ConvJob> cuts = take_array<ConvJob>(ctx, std::ssize(jobs));
  int64_t at = 0;
  for (size_t j = 0; j < jobs.size(); ++j) {
    const int64_t end = at + jobs[j].rows;
    cuts[j] = {value.slice(at, end), &jobs[j].state->convs[index], normed.slice(at, end),
               jobs[j].last};
    at = end;
  }
  layer.conv.run(ctx, cuts);
  if (!layer.conv_norm.empty()) layer.conv_norm(ctx, normed, normed);
  activate(ctx, Activation::kSilu, normed, normed);
  linear_add(ctx, layer.conv_out, normed, x);
}

void FastConformer::run(StepContext& ctx, const View& x, std::span<const Job> jobs) const {
  if (x.shape[0] == 0) return;
  const Arena::Mark host_mark(ctx.host);
  const std::span<RelAttention::Job> seen = take_array<RelAttention::Job>(ctx, std::ssize(jobs));
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    feed(ctx, layer.before_first, layer.first_up, layer.first_down, x);
    {
      const Arena::Mark mark(ctx.arena);
      const View normed = ctx.arena.take(x.shape, DType::kF32);
      layer.before_attention(ctx, x, normed);
      for (size_t j = 0; j < jobs.size(); ++j) seen[j] = {jobs[j].rows, &jobs[j].state->caches[i]};
      layer.attention.run(ctx, normed, seen, x);
    }
    convolve(ctx, layer, i, x, jobs);
    feed(ctx, layer.before_second, layer.second_up, layer.second_down, x);
    layer.norm(ctx, x, x);
  }
}

void FastConformer::move_to(Device device) {
  for (Layer& l : layers_) {
    syrinx::move_to(device, l.before_first, l.before_attention, l.before_conv, l.before_second,
                    l.norm, l.conv_norm, l.first_up, l.first_down, l.second_up, l.second_down,
                    l.value, l.gate, l.conv_out, l.conv, l.attention);
  }
}

size_t FastConformer::bytes() const {
  size_t sum = 0;
  for (const Layer& l : layers_) {
    sum += l.attention.bytes() + l.conv.bytes();
    for (const PackedLinear* linear : {&l.first_up, &l.first_down, &l.second_up, &l.second_down,
                                       &l.value, &l.gate, &l.conv_out}) {
      sum += linear->bytes();
    }
  }
  return sum;
}

}  // namespace syrinx
