// Builds Hift from a checkpoint's tensors, and computes the right context of the network.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "codec/hift.h"
#include "kernels/activation.h"
#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx {
namespace {

constexpr int64_t kPitchTaps = 3, kF0FirstTaps = 7;

/// Loads a convolution whose rows depend on `ahead` later rows.
CausalConv1d load_ahead(const Weights& w, int64_t in, int64_t out, int64_t taps, int64_t ahead,
                        WeightType type) {
  return {folded_weight(w, {out, in, taps}), w.f32("bias", {out}), {.ahead = ahead, .type = type}};
}

/// Converts a causal convolution [O, C, K] over repeated rows (each `rate` times) to a transposed
/// convolution [C, O, K + rate - 1] over the single rows, with the same output. It needs fewer
/// products, because taps that read copies of one row are added up.
Tensor over_repeated(const View& weight, int64_t rate) {
  const int64_t out = weight.shape[0], in = weight.shape[1], taps = weight.shape[2];
  const int64_t wide = taps + rate - 1;
  Tensor made({in, out, wide}, DType::kF32);
  for (int64_t c = 0; c < in; ++c) {
    for (int64_t o = 0; o < out; ++o) {
      const float* from = weight.f32() + (o * in + c) * taps;
      float* to = made.f32() + (c * out + o) * wide;
      for (int64_t q = 0; q < wide; ++q) {
        double sum = 0;
        for (int64_t i = std::max<int64_t>(0, q - rate + 1); i <= std::min(taps - 1, q); ++i)
          sum += from[taps - 1 - i];
        to[q] = static_cast<float>(sum);
      }
    }
  }
  return made;
}

/// Makes a convolution that computes the STFT: rows of cosines, then of negative sines, weighted by
/// a periodic Hann window.
CausalConv1d make_stft(int64_t n, int64_t hop) {
  const int64_t bins = n / 2 + 1;
  Tensor weight({2 * bins, 1, n}, DType::kF32);
  for (int64_t k = 0; k < bins; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      const double window = 0.5 - 0.5 * std::cos(2 * std::numbers::pi * double(i) / double(n));
      const double angle = 2 * std::numbers::pi * double(k * i % n) / double(n);
      weight.f32()[k * n + i] = static_cast<float>(window * std::cos(angle));
      weight.f32()[(bins + k) * n + i] = static_cast<float>(-window * std::sin(angle));
    }
  }
  return {weight, {}, {.stride = hop, .ahead = n - hop}};  // without zeros at the front
}

}  // namespace

int64_t HiftConfig::hop() const {
  int64_t product = stft_hop;
  for (const int64_t rate : rates) product *= rate;
  return product;
}

Hift::Hift(const HiftConfig& config, const Weights& weights, WeightType type)
    : config_(config), istft_(static_cast<int>(config.n_fft), static_cast<int>(config.stft_hop)) {
  SYRINX_CHECK(config.rates.size() == config.rate_kernels.size() &&
                   config.rates.size() == config.source_kernels.size() && !config.rates.empty(),
               "[hift] every rate needs two kernels; rates: ", config.rates.size());
  config_.source.hop = config_.hop();
  // The pitch determines all later phases, so its small predictor always has f32 weights.
  const Weights f0 = weights.scope("f0_predictor");
  for (int i = 0; i < 5; ++i) {
    const Weights w = f0.scope("condnet", 2 * i);
    const int64_t in = i == 0 ? config.mel : config.f0_channels;
    pitch_.push_back(
        config.causal && i == 0
            ? load_ahead(w, in, config.f0_channels, kPitchTaps + 1, kPitchTaps, WeightType::kF32)
            : load_conv(w, in, config.f0_channels, kPitchTaps, 1, WeightType::kF32));
  }
  pitch_out_ = load_linear(f0, "classifier", 1, config.f0_channels, true, WeightType::kF32);
  source_ = HiftSource(config_.source, weights.scope("m_source"));
  stft_ = make_stft(config.n_fft, config.stft_hop);
  const int64_t ahead = config.causal ? config.look_right : kF0FirstTaps / 2;
  first_ = load_ahead(weights.scope("conv_pre"), config.mel, config.channels,
                      config.causal ? ahead + 1 : kF0FirstTaps, ahead, for_convolution(type));
  load_stages(weights, for_convolution(type));
  constexpr int64_t kManyFrames = 256;
  lookahead_ = kManyFrames - certain_samples(kManyFrames) / config_.hop();
}

/// Loads a convolution that is causal or is padded by half its window on both sides.
CausalConv1d Hift::load_conv(const Weights& w, int64_t in, int64_t out, int64_t taps,
                             int64_t dilation, WeightType type) const {
  return {folded_weight(w, {out, in, taps}),
          w.f32("bias", {out}),
          {.dilation = dilation,
           .ahead = config_.causal ? 0 : dilation * (taps - 1) / 2,
           .type = type}};
}

/// Loads the upsampling of a stage.
CausalConvTranspose1d Hift::load_up(const Weights& w, int64_t in, size_t stage,
                                    WeightType type) const {
  const int64_t out = in / 2, rate = config_.rates[stage], taps = config_.rate_kernels[stage];
  if (!config_.causal) {
    return {folded_weight(w, {in, out, taps}), w.f32("bias", {out}), rate, type, (taps - rate) / 2};
  }
  return {over_repeated(folded_weight(w, {out, in, taps}), rate), w.f32("bias", {out}), rate, type};
}

Hift::Block Hift::load_block(const Weights& weights, int64_t channels, int64_t taps,
                             WeightType type) const {
  Block block;
  for (size_t i = 0; i < config_.dilations.size(); ++i) {
    for (const int part : {1, 2}) {
      const std::string number = std::to_string(part) + "." + std::to_string(i);
      Snake snake{weights.f32("activations" + number + ".alpha", {channels}),
                  Tensor({channels}, DType::kF32)};
      for (int64_t c = 0; c < channels; ++c) {
        snake.inv_alpha.f32()[c] = 1.f / (snake.alpha.f32()[c] + kSnakeEps);
      }
      block.acts.push_back(std::move(snake));
      block.convs.push_back(load_conv(weights.scope("convs" + number), channels, channels, taps,
                                      part == 1 ? config_.dilations[i] : 1, type));
    }
  }
  return block;
}

void Hift::load_stages(const Weights& weights, WeightType type) {
  const size_t count = config_.rates.size();
  const int64_t bins = config_.n_fft + 2;
  int64_t channels = config_.channels, index = 0;
  for (size_t i = 0; i < count; ++i) {
    Stage stage;
    const auto at = static_cast<int64_t>(i);
    const Weights down = weights.scope("source_downs", at);
    const int64_t half = channels / 2;
    stage.up = load_up(weights.scope("ups", at), channels, i, type);
    int64_t stride = 1;  // from the STFT's rate to this stage's rate
    for (size_t later = i + 1; later < count; ++later) stride *= config_.rates[later];
    const int64_t taps = stride == 1 ? 1 : 2 * stride;
    const int64_t pad = config_.causal ? stride - 1 : stride / 2;  // zeros before the first row
    stage.down = {down.f32("weight", {half, bins, taps}),
                  down.f32("bias", {half}),
                  {.stride = stride, .ahead = taps - stride - pad, .type = type}};
    stage.source =
        load_block(weights.scope("source_resblocks", at), half, config_.source_kernels[i], type);
    for (const int64_t kernel : config_.kernels) {
      stage.blocks.push_back(load_block(weights.scope("resblocks", index++), half, kernel, type));
    }
    stages_.push_back(std::move(stage));
    channels = half;
  }
  last_ = load_conv(weights.scope("conv_post"), channels, bins, 7, 1, type);
}

HiftState::Block Hift::open(const Block& block, int64_t channels) const {
  HiftState::Block state;
  for (const CausalConv1d& conv : block.convs) state.convs.push_back(conv.open());
  for (size_t i = 0; i < block.convs.size() / 2; ++i)
    state.waiting.emplace_back(channels, device());
  return state;
}

HiftState Hift::open(std::span<const float> phase_offset) const {
  HiftState state;
  for (const CausalConv1d& conv : pitch_) state.pitch_.push_back(conv.open());
  state.source_ = source_.open(phase_offset);
  state.stft_ = stft_.open();
  state.first_ = first_.open();
  state.last_ = last_.open();
  int64_t channels = config_.channels;
  for (const Stage& stage : stages_) {
    channels /= 2;
    HiftState::Stage s;
    s.up = stage.up.open();
    s.down = stage.down.open();
    s.source = open(stage.source, channels);
    s.up_rows = RowQueue(channels, device());
    s.source_rows = RowQueue(channels, device());
    for (const Block& block : stage.blocks) {
      s.blocks.push_back(open(block, channels));
      s.block_rows.emplace_back(channels, device());
    }
    state.stages_.push_back(std::move(s));
  }
  state.mirrored_ = RowQueue(channels, device());
  state.overlap_.assign(static_cast<size_t>(istft_.state_size()), 0.f);
  state.trim_ = config_.n_fft / 2;
  return state;
}

int64_t Hift::certain(const Block& block, int64_t rows) const {
  for (const CausalConv1d& conv : block.convs) rows = certain_rows(conv, rows);
  return rows;
}

/// Returns how many samples are final after `frames` frames if more frames may follow.
int64_t Hift::certain_samples(int64_t frames) const {
  int64_t pitch = frames;
  for (const CausalConv1d& conv : pitch_) pitch = certain_rows(conv, pitch);
  const int64_t excitation = source_.certain(pitch), mirrored = config_.n_fft / 2;
  const int64_t spectrum = excitation > mirrored ? certain_rows(stft_, excitation + mirrored) : 0;
  int64_t rows = certain_rows(first_, frames);
  for (size_t i = 0; i < stages_.size(); ++i) {
    rows = certain_rows(stages_[i].up, rows);
    if (i + 1 == stages_.size()) rows = rows > 1 ? rows + 1 : 0;
    rows = std::min(rows, certain(stages_[i].source, certain_rows(stages_[i].down, spectrum)));
    int64_t slowest = rows;
    for (const Block& block : stages_[i].blocks) slowest = std::min(slowest, certain(block, rows));
    rows = slowest;
  }
  return std::max<int64_t>(0, certain_rows(last_, rows) * config_.stft_hop - config_.n_fft / 2);
}

void Hift::move_to(Device device, Block& block) const {
  for (CausalConv1d& conv : block.convs) conv.move_to(device);
  for (Snake& act : block.acts) {
    syrinx::move_to(device, act.alpha);
    syrinx::move_to(device, act.inv_alpha);
  }
}

void Hift::move_to(Device device) {
  stft_.move_to(device);
  first_.move_to(device);
  last_.move_to(device);
  for (Stage& stage : stages_) {
    stage.up.move_to(device);
    stage.down.move_to(device);
    move_to(device, stage.source);
    for (Block& block : stage.blocks) move_to(device, block);
  }
}

size_t Hift::bytes() const {
  size_t sum = first_.bytes() + last_.bytes() + stft_.bytes() + pitch_out_.bytes();
  for (const CausalConv1d& conv : pitch_) sum += conv.bytes();
  const auto add = [&](const Block& block) {
    for (const CausalConv1d& conv : block.convs) sum += conv.bytes();
  };
  for (const Stage& stage : stages_) {
    sum += stage.up.bytes() + stage.down.bytes();
    add(stage.source);
    for (const Block& block : stage.blocks) add(block);
  }
  return sum;
}

}  // namespace syrinx
