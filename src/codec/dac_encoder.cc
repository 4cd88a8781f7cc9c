#include "codec/dac_encoder.h"

#include <algorithm>

namespace syrinx {
namespace {

constexpr int64_t kMostEncoderBlocks = 8, kTailTaps = 3;

/// Loads a convolution that is padded on both sides, so that it yields as many rows as it reads.
CausalConv1d load_padded(const Weights& scope, int64_t in, int64_t out, int64_t taps,
                         int64_t dilation = 1) {
  return causal::load_conv(scope, in, out, taps,
                           {.dilation = dilation, .ahead = (taps - 1) / 2 * dilation});
}

/// Returns how many rows torch's convolution yields for `rows` rows. Both sides are padded by half
/// of the rate; half of an odd rate is rounded up.
int64_t strided_rows(int64_t rows, int64_t rate) { return (rows + rate % 2) / rate; }

void apply(StepContext& ctx, const View& x, const causal::Snake& act) {
  if (x.shape[0] > 0) causal::snake(ctx, x, act, x);
}

}  // namespace

DacEncoderConfig DacEncoderConfig::of(const Weights& weights) {
  DacEncoderConfig c;
  const auto sizes = [](const Weights& scope, const char* name) {
    std::optional<Shape> shape = scope.shape(name);
    return shape && shape->dims() == 3 ? shape : std::nullopt;
  };
  if (const auto s = sizes(weights, "conv1.weight")) c.channels = (*s)[0];
  if (const auto s = sizes(weights, "conv2.weight")) c.latent = (*s)[0];
  const int64_t blocks = std::min(weights.count("block"), kMostEncoderBlocks);
  if (blocks == 0) return c;
  c.rates.assign(static_cast<size_t>(blocks), 1);
  for (int64_t b = 0; b < blocks; ++b) {
    const auto s = sizes(weights.scope("block", b), "conv1.weight");
    if (s) c.rates[static_cast<size_t>(b)] = std::clamp<int64_t>((*s)[2] / 2, 1, 64);
  }
  return c;
}

DacEncoder::DacEncoder(const DacEncoderConfig& config, const Weights& weights) : config_(config) {
  int64_t width = config.channels;
  head_ = load_padded(weights.scope("conv1"), 1, width, causal::kTaps);
  for (size_t b = 0; b < config.rates.size(); ++b) {
    const Weights w = weights.scope("block", static_cast<int64_t>(b));
    Block block;
    block.rate = config.rates[b];
    int64_t number = 0;
    for (const int64_t dilation : causal::kDilations) {
      const Weights u = w.scope("res_unit" + std::to_string(++number));
      block.units.push_back(
          {causal::load_snake(u.scope("snake1"), width),
           causal::load_snake(u.scope("snake2"), width),
           load_padded(u.scope("conv1"), width, width, causal::kTaps, dilation),
           causal::load_pointwise(u.scope("conv2"), width, width, WeightType::kF32)});
    }
    block.act = causal::load_snake(w.scope("snake1"), width);
    block.down = causal::load_conv(w.scope("conv1"), width, 2 * width, 2 * block.rate,
                                   {.stride = block.rate, .ahead = block.rate / 2});
    width *= 2;
    blocks_.push_back(std::move(block));
  }
  tail_act_ = causal::load_snake(weights.scope("snake1"), width);
  tail_ = load_padded(weights.scope("conv2"), width, config.latent, kTailTaps);
}

int64_t DacEncoder::frames(int64_t samples) const {
  for (const int64_t rate : config_.rates) samples = strided_rows(samples, rate);
  return samples;
}

DacEncoder::Stream DacEncoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  for (const Block& block : blocks_) {
    for (const Unit& unit : block.units) {
      stream.convs.push_back(unit.conv.open());
      stream.beside.emplace_back(unit.conv.in());
    }
    stream.convs.push_back(block.down.open());
  }
  stream.convs.push_back(tail_.open());
  stream.taken.assign(blocks_.size(), 0);
  return stream;
}

View DacEncoder::run(StepContext& ctx, const View& samples, bool last, Stream& stream) const {
  size_t conv = 0, unit_at = 0;
  View x = convolve_rows(ctx, head_, samples, last, stream.convs[conv++]);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    for (const Unit& unit : block.units) {
      RowQueue& beside = stream.beside[unit_at++];
      beside.push(ctx, x);
      apply(ctx, x, unit.before);
      const View inner = convolve_rows(ctx, unit.conv, x, last, stream.convs[conv++]);
      apply(ctx, inner, unit.inside);
      x = beside.pop(ctx, inner.shape[0]);
      if (x.shape[0] > 0) linear_add(ctx, unit.mix, inner, x);
    }
    apply(ctx, x, block.act);
    stream.taken[b] += x.shape[0];
    if (last && block.rate % 2 == 1 && stream.taken[b] % block.rate == block.rate - 1) {
      // With an odd rate, the padding has one row more than the stride needs. Therefore the last
      // step is computed even if one of its rows is missing.
      const View longer = take_rows(ctx, x.shape[0] + 1, x.shape[1]);
      std::fill_n(std::copy_n(x.f32(), x.count(), longer.f32()), x.shape[1], 0.f);
      x = longer;
    }
    x = convolve_rows(ctx, block.down, x, last, stream.convs[conv++]);
  }
  apply(ctx, x, tail_act_);
  return convolve_rows(ctx, tail_, x, last, stream.convs[conv]);
}

size_t DacEncoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes();
  for (const Block& block : blocks_) {
    sum += block.down.bytes();
    for (const Unit& unit : block.units) sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

}  // namespace syrinx
