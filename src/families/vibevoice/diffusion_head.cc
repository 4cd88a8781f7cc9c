#include "families/vibevoice/diffusion_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "kernels/activation.h"
#include "kernels/copy.h"
#include "kernels/modulate.h"
#include "kernels/norm.h"
#include "kernels/solver.h"
#include "nn/stream_pass.h"

namespace syrinx::vibevoice {
namespace {

constexpr int64_t kFrequencies = 128;

/// Returns the deviation of the noise relative to the signal after each training step: sigma /
/// alpha of a cosine schedule, rounded like in the authors' program.
std::vector<float> noise_of_times(int64_t times) {
  const auto alpha_bar = [&](int64_t t) {
    const double at = static_cast<double>(t) / static_cast<double>(times);
    const double c = std::cos((at + 0.008) / 1.008 * std::numbers::pi / 2);
    return c * c;
  };
  std::vector<float> noise;
  double product = 1;
  for (int64_t t = 0; t < times; ++t) {
    const auto beta = static_cast<float>(std::min(1 - alpha_bar(t + 1) / alpha_bar(t), 0.999));
    product *= double{1 - beta};
    const auto kept = static_cast<float>(product);
    noise.push_back(std::sqrt((1 - kept) / kept));
  }
  return noise;
}

}  // namespace

DiffusionHead::Solver DiffusionHead::solver(const ModelConfig& config) {
  constexpr int kN = ModelConfig::kSolverSteps;
  const std::vector<float> noise = noise_of_times(config.times);
  Solver steps;
  double lambda[kN], alpha[kN], sigma[kN];  // lambda = log(alpha / sigma); signal; noise
  for (int i = 0; i < kN; ++i) {
    const double time = std::nearbyint(static_cast<double>(config.times - 1) * (kN - i) / kN);
    const double ratio = noise[static_cast<size_t>(time)];
    steps[i].time = time;
    alpha[i] = 1 / std::sqrt(ratio * ratio + 1);
    sigma[i] = ratio * alpha[i];
    lambda[i] = -std::log(ratio);
  }
  for (int i = 0; i < kN; ++i) {
    SolverStep& step = steps[i];
    step.of_x = static_cast<float>(alpha[i]), step.of_out = static_cast<float>(-sigma[i]);
    if (i + 1 == kN) {  // the last step, by Euler's method, leaves no noise
      step.now = 1;
      break;
    }
    const double h = lambda[i + 1] - lambda[i], gain = -alpha[i + 1] * std::expm1(-h);
    step.keep = static_cast<float>(sigma[i + 1] / sigma[i]);
    step.now = static_cast<float>(gain);
    if (i > 0) step.before = static_cast<float>(gain * h / (2 * (lambda[i] - lambda[i - 1])));
  }
  return steps;
}

DiffusionHead::DiffusionHead(const ModelConfig& config, const Weights& weights, WeightType type)
    : config_(config), solver_(solver(config)), ones_({config.hidden()}, DType::kF32) {
  const int64_t width = config.hidden(), latent = config.latent();
  const WeightType small = at_least_8_bits(type);
  in_ = load_linear(weights, "noisy_images_proj", width, latent, false, small);
  condition_ = load_linear(weights, "cond_proj", width, width, false, small);
  for (int64_t i = 0; i < config.head_layers; ++i) {
    const Weights layer = weights.scope("layers", i), mlp = layer.scope("ffn");
    const auto part = [&](const char* name) {
      return take_linear(mlp, name, config.head_ffn, width, false);
    };
    layers_.push_back({RmsNorm(layer.scope("norm"), width, config.head_eps),
                       load_linear(layer, "adaLN_modulation.1", 3 * width, width, false, small),
                       PackedLinear::pack_gated(part("gate_proj"), part("up_proj"), small),
                       load_linear(mlp, "down_proj", width, config.head_ffn, false, small)});
  }
  const Weights last = weights.scope("final_layer");
  last_modulation_ = load_linear(last, "adaLN_modulation.1", 2 * width, width, false, small);
  out_ = load_linear(last, "linear", latent, width, false, small);
  std::fill_n(ones_.f32(), width, 1.f);
  embed_times(weights.scope("t_embedder.mlp"));
}

/// Computes the embedding of each of the solver's times. It is the same for every latent.
void DiffusionHead::embed_times(const Weights& weights) {
  const int64_t steps = ModelConfig::kSolverSteps, width = config_.hidden();
  Tensor waves({steps, 2 * kFrequencies}, DType::kF32);
  for (int64_t s = 0; s < steps; ++s) {
    for (int64_t i = 0; i < kFrequencies; ++i) {
      const float slope = static_cast<float>(-std::log(10000.0)) * static_cast<float>(i);
      const float angle = static_cast<float>(solver_[static_cast<size_t>(s)].time) *
                          std::exp(slope / static_cast<float>(kFrequencies));
      waves.f32()[s * 2 * kFrequencies + i] = std::cos(angle);
      waves.f32()[s * 2 * kFrequencies + kFrequencies + i] = std::sin(angle);
    }
  }
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx(pool, arena);
  times_ = Tensor({steps, width}, DType::kF32);
  const View inner = take_rows(ctx, steps, width);
  linear(ctx, load_linear(weights, "0", width, 2 * kFrequencies, false, WeightType::kF32), waves,
         inner);
  activate(ctx, Activation::kSilu, inner, inner);
  linear(ctx, load_linear(weights, "2", width, width, false, WeightType::kF32), inner, times_);
}

void DiffusionHead::move_to(Device device) {
  syrinx::move_to(device, in_, condition_, last_modulation_, out_, times_, ones_);
  for (Layer& layer : layers_)
    syrinx::move_to(device, layer.norm, layer.modulation, layer.up, layer.down);
}

void DiffusionHead::run(StepContext& ctx, const View& rows, const View& companions,
                        const View& scales, const View& x) const {
  const int64_t e = x.shape[0], latent = config_.latent(), width = config_.hidden();
  if (e == 0) return;
  const bool guided = !companions.empty();
  expect_shape("diffusion head", x, {e, latent});
  expect_shape("diffusion head", rows, {e, width});
  if (guided) expect_shape("diffusion head", companions, rows.shape);
  const Arena::Mark mark(ctx.arena);
  // With guidance, rows [e, 2 e) are the latents again, without the text.
  const int64_t n = guided ? 2 * e : e;
  const View conditions = take_rows(ctx, n, width), v = take_rows(ctx, n, latent),
             at = take_rows(ctx, n, latent), merged = take_rows(ctx, e, latent),
             difference = take_rows(ctx, e, latent);
  View made = take_rows(ctx, e, latent), last = take_rows(ctx, e, latent);
  const View now = at.slice(0, e), now_without = at.slice(n - e, n);
  linear(ctx, condition_, rows, conditions.slice(0, e));
  if (guided) linear(ctx, condition_, companions, conditions.slice(e, n));
  copy(ctx, x, now);
  for (size_t s = 0; s < solver_.size(); ++s) {
    const SolverStep& step = solver_[s];
    if (guided) copy(ctx, now, now_without);
    estimate(ctx, s, conditions, at, v);
    View out = v;
    if (guided) {
      const View without = v.slice(e, n);
      weighted_sum(ctx, 1, v.slice(0, e), -1, without, difference);
      copy(ctx, without, merged);
      add_rows_scaled(ctx, merged, difference, scales);
      out = merged;
    }
    weighted_sum(ctx, step.of_x, now, step.of_out, out, made);
    weighted_sum(ctx, step.keep, now, step.now, made, now);
    if (step.before != 0) {
      weighted_sum(ctx, 1, made, -1, last, difference);
      weighted_sum(ctx, 1, now, step.before, difference, now);
    }
    std::swap(made, last);
  }
  copy(ctx, now, x);
}

void DiffusionHead::estimate(StepContext& ctx, size_t step, const View& conditions, const View& x,
                             const View& v) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], width = config_.hidden();
  const View c = take_rows(ctx, rows, width), h = take_rows(ctx, rows, width);
  const View y = take_rows(ctx, rows, width), by = take_rows(ctx, rows, 3 * width);
  const View inner = take_rows(ctx, rows, config_.head_ffn);
  linear(ctx, in_, x, y);
  copy(ctx, conditions, c);
  const auto row = static_cast<int64_t>(step);
  add_bias_inplace(ctx, c, times_.view().slice(row, row + 1).reshape({width}));
  activate(ctx, Activation::kSilu, c, c);
  for (const Layer& layer : layers_) {
    linear(ctx, layer.modulation, c, by);
    layer.norm(ctx, y, h);
    modulate(ctx, h, by);
    linear(ctx, layer.up, h, inner);
    linear(ctx, layer.down, inner, h);
    add_gated(ctx, y, h, by);
  }
  const View last = take_rows(ctx, rows, 2 * width);
  linear(ctx, last_modulation_, c, last);
  rms_norm(ctx, y, ones_, config_.head_eps, h);
  modulate(ctx, h, last);
  linear(ctx, out_, h, v);
}

size_t DiffusionHead::bytes() const {
  size_t sum = in_.bytes() + condition_.bytes() + last_modulation_.bytes() + out_.bytes();
  for (const Layer& layer : layers_)
    sum += layer.modulation.bytes() + layer.up.bytes() + layer.down.bytes();
  return sum;
}

}  // namespace syrinx::vibevoice
