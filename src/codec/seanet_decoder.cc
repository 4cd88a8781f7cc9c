#include "codec/seanet_decoder.h"

#include "nn/weight_norm.h"

namespace syrinx {

SeanetDecoder::SeanetDecoder(const SeanetConfig& config, const Weights& weights, WeightType type)
    : config_(config) {
  int64_t layer = 0, width = config.width;
  const auto next = [&] { return weights.scope("model", layer++); };
  const MirroredOptions plain{.type = for_convolution(type)};
  head_ = seanet::load_conv(next(), config.latent, width, config.taps, plain);
  if (config.lstm > 0) {
    const Weights lstm = next().scope("lstm");
    for (int64_t i = 0; i < config.lstm; ++i) {
      lstm_.emplace_back(lstm, "_l" + std::to_string(i), width, width);
    }
  }
  for (const int64_t ratio : config.ratios) {
    const int64_t out = width / 2;
    Block block;
    block.act = seanet::load_snake(next(), width);
    const Weights up = next().scope("convtr").scope("convtr");
    // The last argument is the number of rows removed at the front: half of `ratio`, rounded up.
    block.up = {folded_weight(up, {width, out, 2 * ratio}), up.take("bias", {out}), ratio,
                for_convolution(type), (ratio + 1) / 2};
    for (int64_t u = 0; u < config.units; ++u) {
      block.units.push_back(seanet::load_unit(next(), config, out, u, type));
    }
    blocks_.push_back(std::move(block));
    width = out;
  }
  tail_act_ = seanet::load_snake(next(), width);
  tail_ = seanet::load_conv(next(), width, 1, config.taps, plain);
}

seanet::Stream SeanetDecoder::open() const {
  seanet::Stream stream;
  stream.convs.push_back(head_.open());
  for (const Lstm& lstm : lstm_) stream.lstm.push_back(lstm.open());
  for (const Block& block : blocks_) {
    stream.ups.push_back(block.up.open());
    for (const seanet::Unit& unit : block.units) stream.add(unit, block.up.out());
  }
  stream.convs.push_back(tail_.open());
  return stream;
}

RowStack SeanetDecoder::run(StepContext& ctx, const RowStack& latent,
                            std::span<const seanet::Part> parts) const {
  seanet::Pass pass(ctx, parts);
  RowStack x = pass.run(head_, latent);
  pass.add_lstm(lstm_, x);
  for (const Block& block : blocks_) {
    pass.run(block.act, x);
    x = pass.run(block.up, x);
    for (const seanet::Unit& unit : block.units) x = pass.run(unit, x);
  }
  pass.run(tail_act_, x);
  return pass.run(tail_, x);
}

void SeanetDecoder::move_to(Device device) {
  syrinx::move_to(device, head_, tail_, lstm_);
  seanet::move_to(device, tail_act_);
  for (Block& block : blocks_) {
    seanet::move_to(device, block.act);
    block.up.move_to(device);
    for (seanet::Unit& unit : block.units) seanet::move_to(device, unit);
  }
}

size_t SeanetDecoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes();
  for (const Lstm& lstm : lstm_) sum += lstm.bytes();
  for (const Block& block : blocks_) {
    sum += block.up.bytes();
    for (const seanet::Unit& unit : block.units) sum += seanet::bytes(unit);
  }
  return sum;
}

}  // namespace syrinx
