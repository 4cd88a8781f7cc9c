#include "families/vibevoice/diffusion_head.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/activation.h"
#include "kernels/norm.h"
#include "nn/modulate.h"
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

void DiffusionHead::run(StepContext& ctx, std::span<const LatentJob> jobs) const {
  if (jobs.empty()) return;
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t e = std::ssize(jobs), latent = config_.latent(), width = config_.hidden();
  // Row twins[i] of the network's input repeats latent i without the text; -1: no guidance.
  const std::span<int64_t> twins = take_array<int64_t>(ctx, e);
  int64_t rows = e;
  for (int64_t i = 0; i < e; ++i) twins[i] = jobs[i].companion == nullptr ? -1 : rows++;
  const View conditions = take_rows(ctx, rows, width), x = take_rows(ctx, rows, latent);
  const View v = take_rows(ctx, rows, latent), before = take_rows(ctx, e, latent);
  {
    const Arena::Mark inner_mark(ctx.arena);
    const View given = take_rows(ctx, rows, width);
    for (int64_t i = 0; i < e; ++i) {
      std::copy_n(jobs[i].row, width, given.f32() + i * width);
      if (twins[i] >= 0) std::copy_n(jobs[i].companion, width, given.f32() + twins[i] * width);
      SYRINX_CHECK(std::ssize(jobs[i].noise) == latent, "[diffusion head] noise of ",
                   jobs[i].noise.size(), " numbers");
      for (const int64_t row : {i, twins[i]})
        if (row >= 0) std::ranges::copy(jobs[i].noise, x.f32() + row * latent);
    }
    linear(ctx, condition_, given, conditions);
  }
  for (size_t s = 0; s < solver_.size(); ++s) {
    const SolverStep& step = solver_[s];
    estimate(ctx, s, conditions, x, v);
    for (int64_t i = 0; i < e; ++i) {
      float *at = x.f32() + i * latent, *last = before.f32() + i * latent;
      const float* out = v.f32() + i * latent;
      const float* without = twins[i] < 0 ? nullptr : v.f32() + twins[i] * latent;
      for (int64_t k = 0; k < latent; ++k) {
        const float guided = without ? without[k] + jobs[i].scale * (out[k] - without[k]) : out[k];
        const float made = step.of_x * at[k] + step.of_out * guided;
        at[k] = step.keep * at[k] + step.now * made;
        if (step.before != 0) at[k] += step.before * (made - last[k]);
        last[k] = made;
      }
      if (twins[i] >= 0) std::copy_n(at, latent, x.f32() + twins[i] * latent);
    }
  }
  for (int64_t i = 0; i < e; ++i) std::copy_n(x.f32() + i * latent, latent, jobs[i].out);
}

void DiffusionHead::estimate(StepContext& ctx, size_t step, const View& conditions, const View& x,
                             const View& v) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t rows = x.shape[0], width = config_.hidden();
  const View c = take_rows(ctx, rows, width), h = take_rows(ctx, rows, width);
  const View y = take_rows(ctx, rows, width), by = take_rows(ctx, rows, 3 * width);
  const View inner = take_rows(ctx, rows, config_.head_ffn);
  linear(ctx, in_, x, y);
  std::copy_n(conditions.f32(), conditions.count(), c.f32());
  const auto row = static_cast<int64_t>(step);
  add_bias_inplace(ctx, c, times_.view().slice(row, row + 1).reshape({width}));
  activate(ctx, Activation::kSilu, c, c);
  for (const Layer& layer : layers_) {
    linear(ctx, layer.modulation, c, by);
    layer.norm(ctx, y, h);
    modulate(h, by);
    linear(ctx, layer.up, h, inner);
    linear(ctx, layer.down, inner, h);
    for (int64_t r = 0; r < rows; ++r) {
      const float* gate = by.f32() + (3 * r + 2) * width;
      for (int64_t i = 0; i < width; ++i)
        y.f32()[r * width + i] += gate[i] * h.f32()[r * width + i];
    }
  }
  const View last = take_rows(ctx, rows, 2 * width);
  linear(ctx, last_modulation_, c, last);
  rms_norm(ctx, y, ones_, config_.head_eps, h);
  modulate(h, last);
  linear(ctx, out_, h, v);
}

size_t DiffusionHead::bytes() const {
  size_t sum = in_.bytes() + condition_.bytes() + last_modulation_.bytes() + out_.bytes();
  for (const Layer& layer : layers_)
    sum += layer.modulation.bytes() + layer.up.bytes() + layer.down.bytes();
  return sum;
}

}  // namespace syrinx::vibevoice
