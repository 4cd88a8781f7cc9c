#include "codec/audio_vae_encoder.h"

#include <algorithm>

namespace syrinx {

AudioVaeEncoder::AudioVaeEncoder(const AudioVaeConfig& config, const Weights& weights)
    : config_(config) {
  const Weights encoder = weights.scope("encoder");
  int64_t width = config.encoder_channels;
  head_ = causal::load_conv(encoder.scope("block", 0), 1, width, causal::kTaps, {});
  for (size_t i = 0; i < config.encoder_rates.size(); ++i) {
    const Weights w = encoder.scope("block", static_cast<int64_t>(i) + 1).scope("block");
    const int64_t rate = config.encoder_rates[i];
    Block block;
    int64_t unit = 0;
    for (const int64_t dilation : causal::kDilations) {
      block.units.push_back(causal::load_unit(w.scope(std::to_string(unit++)), width,
                                              {.dilation = dilation, .depthwise = true}));
    }
    block.act = causal::load_snake(w.scope("3"), width);
    block.down = causal::load_conv(w.scope("4"), width, 2 * width, 2 * rate, {.stride = rate});
    width *= 2;
    blocks_.push_back(std::move(block));
  }
  tail_ = causal::load_conv(encoder.scope("fc_mu"), width, config.latent, 3, {});
  encoder.ignore("fc_logvar.*");
}

AudioVaeEncoder::Stream AudioVaeEncoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  for (const Block& block : blocks_) {
    for (const causal::ResidualUnit& unit : block.units) stream.convs.push_back(unit.conv.open());
    stream.convs.push_back(block.down.open());
  }
  stream.convs.push_back(tail_.open());
  return stream;
}

void AudioVaeEncoder::run(StepContext& ctx, Stream& stream, std::span<const float> samples,
                          std::span<float> latents) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t frames = std::ssize(latents) / config_.latent;
  SYRINX_CHECK(frames >= 1 && frames <= kPieceFrames &&
                   std::ssize(latents) == frames * config_.latent &&
                   std::ssize(samples) == frames * config_.encoder_hop(),
               "[audio_vae_encoder] ", samples.size(), " samples do not match ", latents.size(),
               " latent values");
  ConvState* state = stream.convs.data();
  const auto convolve = [&](const CausalConv1d& conv, const View& rows) {
    return causal::convolve(ctx, conv, *state++, rows);
  };
  View x = take_rows(ctx, std::ssize(samples), 1);
  std::copy(samples.begin(), samples.end(), x.f32());
  x = convolve(head_, x);
  for (const Block& block : blocks_) {
    for (const causal::ResidualUnit& unit : block.units) causal::add_unit(ctx, unit, x, convolve);
    causal::snake(ctx, x, block.act, x);
    x = convolve(block.down, x);
  }
  x = convolve(tail_, x);
  std::copy_n(x.f32(), latents.size(), latents.begin());
}

size_t AudioVaeEncoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes();
  for (const Block& block : blocks_) {
    sum += block.down.bytes();
    for (const causal::ResidualUnit& unit : block.units)
      sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

}  // namespace syrinx
