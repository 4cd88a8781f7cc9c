// Builds DacDecoder from a checkpoint's tensors.
#include <string>

#include "codec/dac_decoder.h"
#include "kernels/activation.h"
#include "nn/layers.h"
#include "nn/weight_norm.h"

namespace syrinx {
namespace {

constexpr int64_t kTaps = 7;
constexpr int64_t kDilations[] = {1, 3, 9};

/// Loads a convolution of one tap as a linear.
PackedLinear load_pointwise(const Weights& w, int64_t in, int64_t out, bool bias, WeightType type) {
  const Tensor weight = folded_weight(w, {out, in, 1});
  return PackedLinear::pack(weight.view().reshape({out, in}), type,
                            bias ? w.take("bias", {out}) : View{});
}

int64_t crop_of(int64_t rate) { return (rate + 1) / 2; }

/// Names of the scopes of a block's parts, for both naming schemes.
struct BlockNames {
  Weights act, up, noise;
  std::vector<Weights> units;
};

BlockNames block_names(const Weights& decoder, DacNames names, size_t block, bool noise,
                       bool depthwise) {
  const auto b = static_cast<int64_t>(block);
  if (names == DacNames::kNamed) {
    const Weights w = decoder.scope("block", b);
    return {w.scope("snake1"),
            w.scope("conv_t1"),
            w,
            {w.scope("res_unit1"), w.scope("res_unit2"), w.scope("res_unit3")}};
  }
  const Weights w = decoder.scope("model", b + (depthwise ? 2 : 1)).scope("block");
  const int64_t unit = noise ? 3 : 2;
  BlockNames out{w.scope("0"), w.scope("1"), w.scope("2").scope("linear"), {}};
  for (int64_t i = 0; i < 3; ++i) {
    out.units.push_back(w.scope(std::to_string(unit + i)).scope("block"));
  }
  return out;
}

}  // namespace

int64_t DacDecoderConfig::hop() const {
  int64_t samples = 1;
  for (const int64_t rate : rates) samples *= rate;
  return samples;
}

int64_t DacDecoderConfig::delay() const {
  // Every convolution delays by half of its window. A transposed convolution delays by the samples
  // that it crops.
  const auto half = [](int64_t dilation) { return (kTaps - 1) / 2 * dilation; };
  int64_t rows = half(1);
  for (const int64_t rate : rates) {
    rows = rows * rate + crop_of(rate);
    for (const int64_t dilation : kDilations) rows += half(dilation);
  }
  return rows + half(1);
}

CausalConv1d DacDecoder::load_conv(const Weights& w, int64_t in, int64_t out, int64_t dilation,
                                   bool depthwise) const {
  CausalConv1dOptions options;
  options.dilation = dilation;
  options.groups = depthwise ? in : 1;
  options.ahead = (kTaps - 1) / 2 * dilation;
  options.type = for_convolution(type_);
  return {folded_weight(w, {out, in / options.groups, kTaps}), w.take("bias", {out}), options};
}

DacDecoder::Snake DacDecoder::load_snake(const Weights& weights, int64_t channels) const {
  Snake snake{weights.f32("alpha", {1, channels, 1}), Tensor({channels}, DType::kF32)};
  Tensor alpha({channels}, DType::kF32);
  for (int64_t c = 0; c < channels; ++c) {
    alpha.f32()[c] = snake.alpha.f32()[c];
    snake.inv_alpha.f32()[c] = 1.f / (alpha.f32()[c] + kSnakeEps);
  }
  snake.alpha = std::move(alpha);
  return snake;
}

DacDecoder::DacDecoder(const DacDecoderConfig& config, const Weights& weights, WeightType type)
    : config_(config), type_(for_many_rows(type)) {
  const bool named = config.names == DacNames::kNamed;
  const auto layer = [&](size_t index, const char* name) {
    return named ? weights.scope(name) : weights.scope("model", static_cast<int64_t>(index));
  };
  int64_t width = config.channels;
  if (config.depthwise) {
    head_ = load_conv(layer(0, "conv1"), config.latent, config.latent, 1, true);
    spread_ = load_pointwise(layer(1, "conv1"), config.latent, width, true, type_);
  } else {
    head_ = load_conv(layer(0, "conv1"), config.latent, width, 1, false);
  }
  for (size_t b = 0; b < config.rates.size(); ++b, width /= 2) {
    const BlockNames names = block_names(weights, config.names, b, config.noise, config.depthwise);
    const int64_t rate = config.rates[b], out = width / 2;
    Block block;
    block.act = load_snake(names.act, width);
    block.up = {folded_weight(names.up, {width, out, 2 * rate}), names.up.take("bias", {out}), rate,
                for_convolution(type_), crop_of(rate)};
    if (config.noise) block.noise = load_pointwise(names.noise, out, out, false, type_);
    for (size_t u = 0; u < names.units.size(); ++u) {
      const Weights& w = names.units[u];
      const auto part = [&](const char* number, const char* name) {
        return w.scope(named ? name : number);
      };
      ResidualUnit unit;
      unit.act1 = load_snake(part("0", "snake1"), out);
      unit.conv = load_conv(part("1", "conv1"), out, out, kDilations[u], config.depthwise);
      unit.act2 = load_snake(part("2", "snake2"), out);
      unit.mix = load_pointwise(part("3", "conv2"), out, out, true, type_);
      block.units.push_back(std::move(unit));
    }
    blocks_.push_back(std::move(block));
  }
  const size_t next = config.rates.size() + (config.depthwise ? 2 : 1);
  tail_act_ = load_snake(layer(next, "snake1"), width);
  tail_ = load_conv(layer(next + 1, "conv2"), width, 1, 1, false);
}

size_t DacDecoder::bytes() const {
  size_t sum = head_.bytes() + spread_.bytes() + tail_.bytes();
  for (const Block& block : blocks_) {
    sum += block.up.bytes() + block.noise.bytes();
    for (const ResidualUnit& unit : block.units) sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

}  // namespace syrinx
