#include "ears/smart_turn.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "codec/whisper_encoder.h"
#include "io/file.h"
#include "io/weights.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr int64_t kTurnWidth = 384, kTurnLayers = 4, kTurnHeads = 6, kFfn = 1536, kTurnMels = 80;
constexpr int64_t kTurnSamples = SmartTurn::kSeconds * WhisperWindow::kSampleRate;
constexpr int64_t kMelFrames = kTurnSamples / WhisperWindow::kHop, kTurnRows = kMelFrames / 2;
constexpr int64_t kPooled = 256, kInner = 64;
constexpr float kNormEps = 1e-5f;

PackedConv1d load_conv(const Weights& weights, int64_t in) {
  return PackedConv1d::pack(weights.take("weight", {kTurnWidth, in, 3}),
                            weights.take("bias", {kTurnWidth}));
}
PackedLinear load(const Weights& weights, const char* name, int64_t out, int64_t in) {
  return load_linear(weights, name, out, in, true, WeightType::kF32);
}

/// Returns the last samples, scaled to mean 0 and deviation 1. Prepends zeros if there are too few.
std::vector<float> normalised(std::span<const float> samples) {
  std::vector<float> out(kTurnSamples, 0.f);
  const auto heard = samples.last(std::min(samples.size(), out.size()));
  std::ranges::copy(heard, out.end() - std::ssize(heard));
  double mean = 0, power = 0;
  for (const float x : out) mean += x;
  mean /= static_cast<double>(kTurnSamples);
  for (const float x : out) power += (x - mean) * (x - mean);
  const double scale = 1 / std::sqrt(power / static_cast<double>(kTurnSamples) + 1e-7);
  for (float& x : out) x = static_cast<float>((x - mean) * scale);
  return out;
}

}  // namespace

std::shared_ptr<const SmartTurn> SmartTurn::load(const std::string& path) {
  const Weights weights(
      open_weights(is_file(path) ? path : join_path(path, "smart_turn.safetensors")));
  std::shared_ptr<const SmartTurn> model;
  weights.build([&] { model.reset(new SmartTurn(weights)); });
  return model;
}

SmartTurn::SmartTurn(const Weights& weights)
    : mel_(whisper_mel(kTurnMels)),
      conv1_(load_conv(weights.scope("encoder.conv1"), kTurnMels)),
      conv2_(load_conv(weights.scope("encoder.conv2"), kTurnWidth)),
      positions_(weights.f32("encoder.embed_positions.weight", {kTurnRows, kTurnWidth})),
      blocks_(whisper_blocks(kTurnLayers, kTurnWidth, kTurnHeads, kFfn), weights.scope("encoder"),
              WeightType::kF32),
      attention_(syrinx::load(weights, "pool_attention.0", kPooled, kTurnWidth)),
      weight_(syrinx::load(weights, "pool_attention.2", 1, kPooled)),
      first_(syrinx::load(weights, "classifier.0", kPooled, kTurnWidth)),
      second_(syrinx::load(weights, "classifier.4", kInner, kPooled)),
      last_(syrinx::load(weights, "classifier.6", 1, kInner)),
      norm_(weights.scope("classifier.1"), kPooled, kNormEps) {}

float SmartTurn::probability(std::span<const float> samples) const {
  ThreadPool pool(1);
  Arena arena;
  StepContext ctx{pool, arena};
  // The input of the convolution has a row of zeros before and after it.
  const View mel = arena.take({kMelFrames + 2, kTurnMels}, DType::kF32);
  const View half = arena.take({kMelFrames + 2, kTurnWidth}, DType::kF32);
  std::fill_n(mel.f32(), mel.count(), 0.f);
  std::fill_n(half.f32(), half.count(), 0.f);
  float* const frames = mel.f32() + kTurnMels;
  mel_.run(normalised(samples), 0, kMelFrames, frames);
  whisper_compress({frames, static_cast<size_t>(kMelFrames * kTurnMels)});
  const View inner = half.slice(1, kMelFrames + 1),
             rows = arena.take({kTurnRows, kTurnWidth}, DType::kF32);
  conv1d(ctx, conv1_, mel, inner);
  activate(ctx, Activation::kGelu, inner, inner);
  conv1d(ctx, conv2_, half, rows, 1, 2);
  activate(ctx, Activation::kGelu, rows, rows);
  add_inplace(ctx, rows, positions_);
  run_whole(ctx, blocks_, rows, {0, static_cast<int>(kTurnLayers)});
  blocks_.norm(ctx, rows, rows);

  const View seen = arena.take({kTurnRows, kPooled}, DType::kF32);
  const View scores = arena.take({kTurnRows, 1}, DType::kF32);
  linear(ctx, attention_, rows, seen);
  activate(ctx, Activation::kTanh, seen, seen);
  linear(ctx, weight_, seen, scores);
  const View pooled = arena.take({1, kTurnWidth}, DType::kF32);
  const float top = *std::max_element(scores.f32(), scores.f32() + kTurnRows);
  std::vector<double> sums(kTurnWidth, 0.0);
  double total = 0;
  for (int64_t r = 0; r < kTurnRows; ++r) {
    const double weight = std::exp(double{scores.f32()[r]} - top);
    total += weight;
    for (int64_t c = 0; c < kTurnWidth; ++c) sums[c] += weight * rows.f32()[r * kTurnWidth + c];
  }
  for (int64_t c = 0; c < kTurnWidth; ++c) pooled.f32()[c] = static_cast<float>(sums[c] / total);

  const View first = arena.take({1, kPooled}, DType::kF32);
  const View second = arena.take({1, kInner}, DType::kF32);
  const View last = arena.take({1, 1}, DType::kF32);
  linear(ctx, first_, pooled, first);
  norm_(ctx, first, first);
  activate(ctx, Activation::kGelu, first, first);
  linear(ctx, second_, first, second);
  activate(ctx, Activation::kGelu, second, second);
  linear(ctx, last_, second, last);
  return 1 / (1 + std::exp(-last.f32()[0]));
}

}  // namespace syrinx
