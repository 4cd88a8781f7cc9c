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

SeanetDecoder::Stream SeanetDecoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  for (const Lstm& lstm : lstm_) stream.lstm.push_back(lstm.open());
  for (const Block& block : blocks_) {
    stream.ups.push_back(block.up.open());
    for (const seanet::Unit& unit : block.units) {
      stream.convs.push_back(unit.conv.open());
      stream.beside.emplace_back(block.up.out());
    }
  }
  stream.convs.push_back(tail_.open());
  return stream;
}

View SeanetDecoder::run(StepContext& ctx, const View& latent, bool last, Stream& stream) const {
  size_t conv = 0, unit_at = 0;
  View x = head_.run(ctx, latent, last, stream.convs[conv++]);
  seanet::add_lstm(ctx, lstm_, x, stream.lstm);
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Block& block = blocks_[b];
    seanet::apply(ctx, block.act, x);
    x = convolve_rows(ctx, block.up, x, last, stream.ups[b]);
    for (const seanet::Unit& unit : block.units) {
      x = seanet::run(ctx, unit, x, last, stream.convs[conv++], stream.beside[unit_at++]);
    }
  }
  seanet::apply(ctx, tail_act_, x);
  const View out = tail_.run(ctx, x, last, stream.convs[conv]);
  return out.reshape({out.shape[0]});
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
