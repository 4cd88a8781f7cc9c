#include "codec/fish_encoder.h"

#include <algorithm>

#include "codec/encode_whole.h"
#include "kernels/activation.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

constexpr WeightType kExact = WeightType::kF32;

}  // namespace

FishEncoder::FishEncoder(const FishCodecConfig& config, const Weights& weights) : config_(config) {
  load_network(weights.scope("encoder"));
  load_quantizers(weights.scope("quantizer"));
}

void FishEncoder::load_network(const Weights& weights) {
  int64_t index = 0, width = config_.encoder_channels;
  const auto next = [&] { return weights.scope("block", index++); };
  head_ = causal::load_conv(next().scope("conv"), 1, width, causal::kTaps, {});
  int64_t frame_rows = config_.hop();
  for (size_t i = 0; i < config_.encoder_rates.size(); ++i) {
    const Weights w = next().scope("block");
    const int64_t rate = config_.encoder_rates[i];
    frame_rows /= rate;
    Block block;
    int64_t unit = 0;
    for (const int64_t dilation : causal::kDilations) {
      block.units.push_back(causal::load_unit(w.scope(std::to_string(unit++)), width,
                                              {.dilation = dilation, .conv = "conv"}));
    }
    block.act = causal::load_snake(w.scope("3"), width);
    block.down =
        causal::load_conv(w.scope("4").scope("conv"), width, 2 * width, 2 * rate, {.stride = rate});
    width *= 2;
    if (config_.encoder_layers[i] > 0) {
      block.frame_rows = frame_rows;
      block.transformer =
          StreamDecoder(fish_transformer(width, config_.encoder_layers[i], config_.encoder_ffn,
                                         FishCodecConfig::kEncoderWindow),
                        w.scope("5"), kExact, static_cast<int>(kPieceFrames * frame_rows));
    }
    blocks_.push_back(std::move(block));
  }
  tail_act_ = causal::load_snake(next(), width);
  tail_ = causal::load_conv(next().scope("conv"), width, config_.latent, 3, {});
}

void FishEncoder::load_quantizers(const Weights& weights) {
  const int64_t width = config_.latent, dim = config_.codebook_dim;
  for (size_t i = 0; i < config_.downsample.size(); ++i) {
    const Weights w = weights.scope("downsample", static_cast<int64_t>(i));
    const int64_t factor = config_.downsample[i];
    Downsample stage;
    stage.down =
        causal::load_conv(w.scope("0").scope("conv"), width, width, factor, {.stride = factor});
    stage.mix = ConvNeXt({.channels = width}, w.scope("1"), kExact);
    downsample_.push_back(std::move(stage));
  }
  transformer_ = StreamDecoder(
      fish_transformer(width, config_.pre_layers, config_.pre_ffn, FishCodecConfig::kWindow),
      weights.scope("pre_module"), kExact, static_cast<int>(kPieceFrames));
  for (int64_t q = 0; q < config_.codebooks; ++q) {
    const Weights w = weights.scope(q == 0 ? "semantic_quantizer" : "quantizer")
                          .scope("quantizers", q == 0 ? 0 : q - 1);
    quantizer_.add_dac(w, width, dim, config_.codes(q));
  }
}

FishEncoder::Stream FishEncoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  for (const Block& block : blocks_) {
    for (const causal::ResidualUnit& unit : block.units) stream.convs.push_back(unit.conv.open());
    stream.convs.push_back(block.down.open());
    if (block.frame_rows > 0) stream.transformers.push_back(block.transformer.open());
  }
  stream.convs.push_back(tail_.open());
  for (const Downsample& stage : downsample_) {
    stream.convs.push_back(stage.down.open());
    stream.convs.push_back(stage.mix.open());
  }
  stream.transformers.push_back(transformer_.open());
  return stream;
}

std::vector<int32_t> FishEncoder::encode(StepContext& ctx, std::span<const float> samples) const {
  return encode_whole(ctx, *this, config_, samples);
}

int64_t FishEncoder::room(StepContext& ctx, Stream& stream) const {
  int64_t frames = kPieceFrames;
  size_t kv = 0;
  for (const Block& block : blocks_) {
    if (block.frame_rows == 0) continue;
    frames =
        std::min(frames, block.transformer.room(ctx, stream.transformers[kv++]) / block.frame_rows);
  }
  return std::min(frames, transformer_.room(ctx, stream.transformers[kv]));
}

View FishEncoder::transform(StepContext& ctx, const StreamDecoder& transformer, StreamKv& kv,
                            const View& x) const {
  const StreamRows rows{&kv, x.shape[0]};
  transformer.forward(ctx, x, std::span(&rows, 1));
  transformer.norm(ctx, x, x);
  return x;
}

void FishEncoder::run(StepContext& ctx, Stream& stream, std::span<const float> samples,
                      std::span<int32_t> codes) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t frames = std::ssize(codes) / config_.codebooks;
  View x = take_rows(ctx, frames * config_.hop(), 1);  // zeros fill up the last frame
  std::fill(std::copy(samples.begin(), samples.end(), x.f32()), x.f32() + x.count(), 0.f);
  ConvState* state = stream.convs.data();
  StreamKv* kv = stream.transformers.data();
  x = causal::convolve(ctx, head_, *state++, x);
  for (const Block& block : blocks_) {
    for (const causal::ResidualUnit& unit : block.units) {
      causal::add_unit(ctx, unit, x, [&](const CausalConv1d& conv, const View& rows) {
        return causal::convolve(ctx, conv, *state++, rows);
      });
    }
    causal::snake(ctx, x, block.act, x);
    x = causal::convolve(ctx, block.down, *state++, x);
    if (block.frame_rows > 0) x = transform(ctx, block.transformer, *kv++, x);
  }
  causal::snake(ctx, x, tail_act_, x);
  x = causal::convolve(ctx, tail_, *state++, x);
  for (const Downsample& stage : downsample_) {
    x = causal::convolve(ctx, stage.down, *state++, x);
    const ConvJob job{x, state++, x};
    stage.mix.run(ctx, std::span(&job, 1));
  }
  quantizer_.run(ctx, transform(ctx, transformer_, *kv, x), codes);
}

size_t FishEncoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes() + transformer_.bytes() + quantizer_.bytes();
  for (const Block& block : blocks_) {
    sum += block.down.bytes();
    if (block.frame_rows > 0) sum += block.transformer.bytes();
    for (const causal::ResidualUnit& unit : block.units)
      sum += unit.conv.bytes() + unit.mix.bytes();
  }
  for (const Downsample& stage : downsample_) sum += stage.down.bytes() + stage.mix.bytes();
  return sum;
}

}  // namespace syrinx
