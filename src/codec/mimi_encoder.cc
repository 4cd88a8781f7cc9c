#include "codec/mimi_encoder.h"

#include <algorithm>

#include "base/check.h"
#include "codec/causal_layers.h"
#include "codec/encode_whole.h"
#include "codec/mimi_layers.h"
#include "kernels/activation.h"
#include "kernels/copy.h"

namespace syrinx {
namespace {

constexpr int64_t kEncodedFrames = 8;  // frames of a piece; limits the scratch memory

/// Appends zeros or copies of the last row to x until the number of rows is a multiple of `stride`.
/// Only the end of a recording needs this padding.
View padded(StepContext& ctx, const View& x, int64_t stride, ConvPad pad) {
  const int64_t rows = x.shape[0], width = x.shape[1];
  const int64_t whole = (rows + stride - 1) / stride * stride;
  if (whole == rows) return x;
  const View longer = take_rows(ctx, whole, width);
  const Arena::Mark mark(ctx.host);
  const std::span<CopySpan> copies = take_array<CopySpan>(ctx, 1 + whole - rows);
  copies[0] = {x.f32(), longer.f32(), x.count()};
  const float* last = pad == ConvPad::kReplicate ? x.f32() + (rows - 1) * width : nullptr;
  for (int64_t row = rows; row < whole; ++row)
    copies[1 + row - rows] = {last, longer.f32() + row * width, width};
  copy_spans(ctx, copies);
  return longer;
}

}  // namespace

MimiEncoder::MimiEncoder(const MimiConfig& config, const Weights& weights)
    : network_(config, weights) {
  SYRINX_CHECK(config.semantic < config.codebooks, "[mimi encoder] ", config.semantic,
               " semantic codebooks of ", config.codebooks);
  const Weights quantizer = weights.scope("quantizer");
  semantic_ = load_quantizer(quantizer, true);
  acoustic_ = load_quantizer(quantizer, false);
}

MimiEncoder::Quantizer MimiEncoder::load_quantizer(const Weights& weights, bool semantic) const {
  const int64_t dim = config().codebook_dim;
  const int64_t end = semantic ? config().semantic : config().codebooks;
  Quantizer q;
  q.first = semantic ? 0 : config().semantic;
  q.in = mimi::load_projection(weights.scope(semantic ? mimi::kSemantic : mimi::kAcoustic),
                               "input_proj", config().hidden, dim, WeightType::kF32);
  for (int64_t book = q.first; book < end; ++book) {
    q.stages.add(mimi::load_codebook(config(), weights, book));
  }
  return q;
}

MimiLatentEncoder::MimiLatentEncoder(const MimiConfig& config, const Weights& weights)
    : config_(config) {
  const int64_t hidden = config_.hidden;
  const Weights layers = weights.scope("encoder").scope(config.names.layers);
  int64_t index = 0, width = config_.filters;
  const auto next = [&](int64_t skip) { return layers.scope(std::to_string(index += skip)); };
  head_ = mimi::load_conv(next(0), 1, width, config_.taps, {});
  for (auto ratio = config_.ratios.rbegin(); ratio != config_.ratios.rend(); ++ratio) {
    Block block;
    block.stride = *ratio;
    for (int64_t i = 0; i < config_.residual_layers; ++i) {
      block.units.push_back(mimi::load_unit(config_, next(1), width, i, WeightType::kF32));
    }
    // Activations are modules with numbers, too.
    block.down = mimi::load_conv(next(2), width, 2 * width, 2 * *ratio, {.stride = *ratio});
    width *= 2;
    blocks_.push_back(std::move(block));
  }
  tail_ = mimi::load_conv(next(2), width, hidden, config_.last_taps, {});
  transformer_ =
      StreamDecoder(config_.transformer(), weights.scope(config.names.encoder_transformer),
                    WeightType::kF32, static_cast<int>(kEncodedFrames * config.latent_rate));
  downsample_ = {weights.scope(config.names.downsample)
                     .take("weight", {config.encoded, hidden, 2 * config.latent_rate}),
                 {},
                 {.stride = config.latent_rate, .pad = ConvPad::kReplicate}};
}

MimiLatentEncoder::Stream MimiLatentEncoder::open() const {
  Stream stream;
  stream.convs.push_back(head_.open());
  for (const Block& block : blocks_) {
    for (const MimiResidualUnit& unit : block.units) stream.convs.push_back(unit.conv.open());
    stream.convs.push_back(block.down.open());
  }
  stream.convs.push_back(tail_.open());
  stream.convs.push_back(downsample_.open());
  stream.kv = transformer_.open();
  return stream;
}

std::vector<int32_t> MimiEncoder::encode(StepContext& ctx, std::span<const float> samples) const {
  return encode_whole(ctx, *this, config(), samples);
}

int64_t MimiLatentEncoder::room(StepContext& ctx, Stream& stream) const {
  // Pieces are whole frames of latent rows. room() too shifts positions back by whole frames.
  return std::min(kEncodedFrames, transformer_.room(ctx, stream.kv) / config_.latent_rate);
}

View MimiLatentEncoder::run(StepContext& ctx, Stream& stream,
                            std::span<const float> samples) const {
  const auto count = static_cast<int64_t>(samples.size());
  View x = take_rows(ctx, count, 1);
  store(ctx, samples, x);
  ConvState* state = stream.convs.data();
  x = causal::convolve(ctx, head_, *state++, x);
  for (const Block& block : blocks_) {
    for (const MimiResidualUnit& unit : block.units) {
      const Arena::Mark unit_mark(ctx.arena);
      const View first = take_rows(ctx, x.shape[0], x.shape[1]);
      activate(ctx, Activation::kElu, x, first);
      const View inner = causal::convolve(ctx, unit.conv, *state++, first);
      activate(ctx, Activation::kElu, inner, inner);
      linear_add(ctx, unit.mix, inner, x);
    }
    activate(ctx, Activation::kElu, x, x);
    x = causal::convolve(ctx, block.down, *state++, padded(ctx, x, block.stride, ConvPad::kZero));
  }
  activate(ctx, Activation::kElu, x, x);
  x = causal::convolve(ctx, tail_, *state++, x);
  const StreamRows rows{&stream.kv, x.shape[0]};
  transformer_.forward(ctx, x, std::span(&rows, 1));
  return causal::convolve(ctx, downsample_, *state++,
                          padded(ctx, x, config_.latent_rate, ConvPad::kReplicate));
}

void MimiEncoder::run(StepContext& ctx, Stream& stream, std::span<const float> samples,
                      std::span<int32_t> codes) const {
  const Arena::Mark mark(ctx.arena);
  const int64_t books = config().codebooks, frames = std::ssize(codes) / books;
  const View made = ctx.arena.take({frames, books}, DType::kI32);
  run(ctx, stream, samples, made);
  fetch(ctx, made, codes);
  synchronize(ctx);
}

void MimiEncoder::run(StepContext& ctx, Stream& stream, std::span<const float> samples,
                      const View& codes) const {
  const Arena::Mark mark(ctx.arena);
  const View latent = network_.run(ctx, stream, samples);
  for (const Quantizer* quantizer : {&semantic_, &acoustic_}) {
    const View rest = take_rows(ctx, latent.shape[0], config().codebook_dim);
    linear(ctx, quantizer->in, latent, rest);
    quantizer->stages.run(ctx, rest, codes, quantizer->first);
  }
}

void MimiLatentEncoder::move_to(Device device) {
  syrinx::move_to(device, head_, tail_, downsample_, transformer_);
  for (Block& block : blocks_) {
    syrinx::move_to(device, block.down);
    for (MimiResidualUnit& unit : block.units) syrinx::move_to(device, unit.conv, unit.mix);
  }
}

void MimiEncoder::move_to(Device device) {
  syrinx::move_to(device, network_, semantic_.in, semantic_.stages, acoustic_.in, acoustic_.stages);
}

size_t MimiLatentEncoder::bytes() const {
  size_t sum = head_.bytes() + tail_.bytes() + downsample_.bytes() + transformer_.bytes();
  for (const Block& block : blocks_) {
    sum += block.down.bytes();
    for (const MimiResidualUnit& unit : block.units) sum += unit.conv.bytes() + unit.mix.bytes();
  }
  return sum;
}

size_t MimiEncoder::bytes() const {
  return network_.bytes() + semantic_.in.bytes() + semantic_.stages.bytes() + acoustic_.in.bytes() +
         acoustic_.stages.bytes();
}

}  // namespace syrinx
