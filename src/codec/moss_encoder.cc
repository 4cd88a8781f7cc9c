#include "codec/moss_encoder.h"

#include <algorithm>

#include "codec/encode_whole.h"
#include "codec/moss_layers.h"
#include "codec/unit_rows.h"

namespace syrinx {
namespace {

PackedLinear moss_linear(const Weights& scope, int64_t in, int64_t out) {
  const moss::Pointwise conv = moss::load_pointwise(scope, in, out);
  return PackedLinear::pack(conv.weight, WeightType::kF32, conv.bias);
}

}  // namespace

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
    const Weights scope = quantizer.scope("quantizers", q);
    Codebook book;
    book.in = moss_linear(scope.scope("in_proj"), config_.rvq, dim);
    book.out = moss_linear(scope.scope("out_proj"), dim, config_.rvq);
    book.entries = scope.scope("codebook").f32("weight", {config_.codebook_size, dim});
    Tensor unit = book.entries.clone();
    scale_rows_to_length_1(unit);
    book.nearest = NearestEntry(std::move(unit));
    codebooks_.push_back(std::move(book));
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
  quantise(ctx, x, codes);
}

void MossEncoder::quantise(StepContext& ctx, const View& latent, std::span<int32_t> codes) const {
  const int64_t n = latent.shape[0], dim = config_.codebook_dim, books = config_.codebooks;
  const View rest = take_rows(ctx, n, config_.rvq), out = take_rows(ctx, n, config_.rvq);
  const View small = take_rows(ctx, n, dim);
  const std::span<int32_t> best = take_array<int32_t>(ctx, n);
  linear(ctx, project_, latent, rest);
  for (int64_t q = 0; q < books; ++q) {
    const Codebook& book = codebooks_[static_cast<size_t>(q)];
    linear(ctx, book.in, rest, small);
    scale_rows_to_length_1(small);
    book.nearest.find(ctx, small, best);
    for (int64_t t = 0; t < n; ++t) {
      codes[t * books + q] = best[t];
      std::copy_n(book.entries.f32() + best[t] * dim, dim, small.f32() + t * dim);
    }
    linear(ctx, book.out, small, out);
    for (int64_t i = 0; i < rest.count(); ++i) rest.f32()[i] -= out.f32()[i];
  }
}

size_t MossEncoder::bytes() const {
  size_t sum = project_.bytes();
  for (const MossBlockNet& block : blocks_) {
    sum += block.in.bytes() + block.net.bytes() + block.out.bytes();
  }
  for (const Codebook& book : codebooks_) {
    sum += book.in.bytes() + book.out.bytes() + book.entries.bytes() + book.nearest.bytes();
  }
  return sum;
}

}  // namespace syrinx
