#include "codec/seanet_encoder.h"

#include <algorithm>

namespace syrinx {

SeanetEncoder::SeanetEncoder(const SeanetConfig& config, const Weights& weights) : config_(config) {
  constexpr WeightType kWeights = WeightType::kF32;
  int64_t layer = 0, width = std::max<int64_t>(1, config.width >> config.ratios.size());
  const auto next = [&] { return weights.scope("model", layer++); };
  head_ = seanet::load_conv(next(), 1, width, config.taps, {});
  for (auto it = config.ratios.rbegin(); it != config.ratios.rend(); ++it) {
    const int64_t ratio = *it;
    Block block;
    for (int64_t u = 0; u < config.units; ++u) {
      block.units.push_back(seanet::load_unit(next(), config, width, u, kWeights));
    }
    block.act = seanet::load_snake(next(), width);
    block.down = seanet::load_conv(next(), width, 2 * width, 2 * ratio, {.stride = ratio});
    blocks_.push_back(std::move(block));
    width *= 2;
  }
  if (config.lstm > 0) {
    const Weights lstm = next().scope("lstm");
    for (int64_t i = 0; i < config.lstm; ++i) {
      lstm_.emplace_back(lstm, "_l" + std::to_string(i), width, width);
    }
  }
  tail_act_ = seanet::load_snake(next(), width);
  tail_ = seanet::load_conv(next(), width, config.latent, config.taps, {});
}

int64_t SeanetEncoder::frames(int64_t samples) const {
  for (auto ratio = config_.ratios.rbegin(); ratio != config_.ratios.rend(); ++ratio) {
    samples = (samples + *ratio - 1) / *ratio;
  }
  return samples;
}

SeanetEncoder::Stream SeanetEncoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  int64_t width = head_.out();
  for (const Block& block : blocks_) {
    for (const seanet::Unit& unit : block.units) {
      stream.convs.push_back(unit.conv.open());
      stream.beside.emplace_back(width);
    }
    stream.convs.push_back(block.down.open());
    width = block.down.out();
  }
  for (const Lstm& lstm : lstm_) stream.lstm.push_back(lstm.open());
  stream.convs.push_back(tail_.open());
  return stream;
}

View SeanetEncoder::run(StepContext& ctx, const View& samples, bool last, Stream& stream) const {
  size_t conv = 0, unit_at = 0;
  View x = head_.run(ctx, samples, last, stream.convs[conv++]);
  for (const Block& block : blocks_) {
    for (const seanet::Unit& unit : block.units) {
      x = seanet::run(ctx, unit, x, last, stream.convs[conv++], stream.beside[unit_at++]);
    }
    seanet::apply(ctx, block.act, x);
    x = block.down.run(ctx, x, last, stream.convs[conv++]);
  }
  seanet::add_lstm(ctx, lstm_, x, stream.lstm);
  seanet::apply(ctx, tail_act_, x);
  return tail_.run(ctx, x, last, stream.convs[conv]);
}

size_t SeanetEncoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes();
  for (const Lstm& lstm : lstm_) sum += lstm.bytes();
  for (const Block& block : blocks_) {
    sum += block.down.bytes();
    for (const seanet::Unit& unit : block.units) sum += seanet::bytes(unit);
  }
  return sum;
}

}  // namespace syrinx
