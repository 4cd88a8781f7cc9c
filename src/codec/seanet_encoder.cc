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

seanet::Stream SeanetEncoder::open() const {
  seanet::Stream stream;
  stream.convs.push_back(head_.open());
  int64_t width = head_.out();
  for (const Block& block : blocks_) {
    for (const seanet::Unit& unit : block.units) stream.add(unit, width);
    stream.convs.push_back(block.down.open());
    width = block.down.out();
  }
  for (const Lstm& lstm : lstm_) stream.lstm.push_back(lstm.open());
  stream.convs.push_back(tail_.open());
  return stream;
}

View SeanetEncoder::run(StepContext& ctx, const View& samples, bool last,
                        seanet::Stream& stream) const {
  const seanet::Part part{&stream, last};
  const int64_t count = samples.shape[0];
  seanet::Pass pass(ctx, {&part, 1});
  RowStack x = pass.run(head_, {samples, {&count, 1}});
  for (const Block& block : blocks_) {
    for (const seanet::Unit& unit : block.units) x = pass.run(unit, x);
    pass.run(block.act, x);
    x = pass.run(block.down, x);
  }
  pass.add_lstm(lstm_, x);
  pass.run(tail_act_, x);
  return pass.run(tail_, x).x;
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
