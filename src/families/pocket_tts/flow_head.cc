#include "families/pocket_tts/flow_head.h"

#include <cmath>

#include "kernels/activation.h"
#include "kernels/modulate.h"
#include "nn/stream_pass.h"

namespace syrinx::pocket_tts {
namespace {

constexpr int64_t kFrequencies = 128;

/// Returns the embedding [W] of a time. Its norm divides by the standard deviation but does not
/// subtract the mean.
std::vector<double> embed_time(const Weights& scope, int64_t width, double time) {
  const Tensor frequencies = scope.f32("freqs", {kFrequencies});
  const Weights mlp = scope.scope("mlp");
  std::vector<double> x;
  for (const bool sine : {false, true}) {
    for (int64_t i = 0; i < kFrequencies; ++i) {
      const double angle = time * double{frequencies.f32()[i]};
      x.push_back(sine ? std::sin(angle) : std::cos(angle));
    }
  }
  for (const char* name : {"0", "2"}) {
    const Weights layer = mlp.scope(name);
    const auto in = std::ssize(x);
    const Tensor w = layer.f32("weight", {width, in}), b = layer.f32("bias", {width});
    std::vector<double> y(static_cast<size_t>(width));
    for (int64_t o = 0; o < width; ++o) {
      double sum = b.f32()[o];
      for (int64_t i = 0; i < in; ++i) sum += double{w.f32()[o * in + i]} * x[size_t(i)];
      y[size_t(o)] = name[0] == '0' ? sum / (1 + std::exp(-sum)) : sum;
    }
    x = std::move(y);
  }
  const Tensor alpha = mlp.scope("3").f32("alpha", {width});
  double mean = 0, square = 0;
  for (const double v : x) mean += v / static_cast<double>(width);
  for (const double v : x) square += (v - mean) * (v - mean);
  const double deviation = std::sqrt(square / static_cast<double>(width - 1) + 1e-5);
  for (int64_t i = 0; i < width; ++i) x[size_t(i)] *= alpha.f32()[i] / deviation;
  return x;
}

}  // namespace

FlowHead::FlowHead(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config), ones_({config.flow_width}, DType::kF32), zeros_(ones_.shape(), DType::kF32) {
  const int64_t width = config.flow_width;
  const WeightType small = at_least_8_bits(type);
  in_ = load_linear(weights, "input_proj", width, config.latent, true, small);
  condition_ = load_linear(weights, "cond_embed", width, config.condition, true, small);
  for (int64_t i = 0; i < config.flow_blocks; ++i) {
    const Weights block = weights.scope("res_blocks", i);
    blocks_.push_back({LayerNorm(block.scope("in_ln"), width, 1e-6f),
                       load_linear(block, "adaLN_modulation.1", 3 * width, width, true, small),
                       load_linear(block, "mlp.0", width, width, true, small),
                       load_linear(block, "mlp.2", width, width, true, small)});
  }
  const Weights last = weights.scope("final_layer");
  last_modulation_ = load_linear(last, "adaLN_modulation.1", 2 * width, width, true, small);
  out_ = load_linear(last, "linear", config.latent, width, true, small);
  for (int64_t i = 0; i < width; ++i) ones_.f32()[i] = 1, zeros_.f32()[i] = 0;
  if (config.flow != FlowType::kDistilled) return;
  time_ = Tensor({width}, DType::kF32);
  const std::vector<double> from = embed_time(weights.scope("time_embed", 0), width, 0);
  const std::vector<double> to = embed_time(weights.scope("time_embed", 1), width, 1);
  for (int64_t i = 0; i < width; ++i) {
    time_.f32()[i] = static_cast<float>((from[size_t(i)] + to[size_t(i)]) / 2);
  }
}

void FlowHead::move_to(Device device) {
  syrinx::move_to(device, in_, condition_, last_modulation_, out_, time_, ones_, zeros_);
  for (Block& block : blocks_)
    syrinx::move_to(device, block.norm, block.modulation, block.up, block.down);
}

void FlowHead::run(StepContext& ctx, const View& condition, const View& noise,
                   const View& out) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t n = noise.shape[0], width = config_.flow_width;
  const View x = take_rows(ctx, n, width), y = take_rows(ctx, n, width);
  const View h = take_rows(ctx, n, width), inner = take_rows(ctx, n, width);
  const View by = take_rows(ctx, n, 3 * width), last = take_rows(ctx, n, 2 * width);
  linear(ctx, in_, noise, x);
  linear(ctx, condition_, condition, y);
  if (!time_.empty()) add_bias_inplace(ctx, y, time_);
  activate(ctx, Activation::kSilu, y, y);
  for (const Block& block : blocks_) {
    linear(ctx, block.modulation, y, by);
    block.norm(ctx, x, h);
    modulate(ctx, h, by);
    linear(ctx, block.up, h, inner);
    activate(ctx, Activation::kSilu, inner, inner);
    linear(ctx, block.down, inner, h);
    add_gated(ctx, x, h, by);
  }
  linear(ctx, last_modulation_, y, last);
  layer_norm(ctx, x, ones_, zeros_, 1e-6f, h);
  modulate(ctx, h, last);
  linear(ctx, out_, h, out);
  if (config_.flow != FlowType::kDrifting) add_inplace(ctx, out, noise);
}

size_t FlowHead::bytes() const {
  size_t sum = in_.bytes() + condition_.bytes() + last_modulation_.bytes() + out_.bytes();
  for (const Block& block : blocks_)
    sum += block.modulation.bytes() + block.up.bytes() + block.down.bytes();
  return sum;
}

}  // namespace syrinx::pocket_tts
