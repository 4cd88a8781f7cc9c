#include "codec/moss_encoder.h"

#include <algorithm>

#include "codec/encode_whole.h"
#include "codec/moss_layers.h"

namespace syrinx {
MossEncoder::MossEncoder(const MossCodecConfig& config, const Weights& weights) : config_(config) {
  int64_t channels = 1;
  for (const MossBlock& block : config_.encoder) {
    blocks_.push_back(moss::load_block(block, weights.scope("encoder"), {channels, block.patch},
                                       false, WeightType::kF32, static_cast<int>(kPieceFrames)));
    channels = block.out;
  }
  const Weights quantizer = weights.scope("quantizer");
  const int64_t dim = config_.codebook_dim;
  const moss::Pointwise in = moss::load_residuals(config_, quantizer, "input_proj");
  project_ = PackedLinear::pack(in.weight, WeightType::kF32, in.bias);
  for (int64_t q = 0; q < config_.codebooks; ++q) {
    quantizer_.add_dac(quantizer.scope("quantizers", q), config_.rvq, dim, config_.codebook_size);
  }
}

std::vector<int32_t> MossEncoder::encode(StepContext& ctx, std::span<const float> samples) const {
  return encode_whole(ctx, *this, config_, samples);
}

MossEncoder::Stream MossEncoder::open() const {
  Stream stream;
  for (const MossBlockNet& block : blocks_) stream.kv.push_back(block.net.open());
  return stream;
}

int64_t MossEncoder::room(StepContext& ctx, Stream& stream) const {
  int64_t room = kPieceFrames;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    room = std::min(room, blocks_[b].net.room(ctx, stream.kv[b]) / blocks_[b].rate);
  }
  return room;
}

void MossEncoder::run(StepContext& ctx, Stream& stream, std::span<const float> samples,
                      std::span<int32_t> codes) const {
  const Arena::Mark mark(ctx.arena), host_mark(ctx.host);
  const int64_t frames = std::ssize(samples) / config_.hop();
  View x = take_rows(ctx, frames * config_.hop(), 1);
  std::copy_n(samples.data(), x.count(), x.f32());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const StreamRows rows{&stream.kv[b], frames * blocks_[b].rate};
    x = moss::run_block(ctx, blocks_[b], x, frames, std::span(&rows, 1));
  }
  const View rest = take_rows(ctx, x.shape[0], config_.rvq);
  linear(ctx, project_, x, rest);
  quantizer_.run(ctx, rest, codes);
}

size_t MossEncoder::bytes() const {
  size_t sum = project_.bytes() + quantizer_.bytes();
  for (const MossBlockNet& block : blocks_) {
    sum += block.in.bytes() + block.net.bytes() + block.out.bytes();
  }
  return sum;
}

}  // namespace syrinx
