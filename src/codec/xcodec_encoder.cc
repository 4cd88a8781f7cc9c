#include "codec/xcodec_encoder.h"

#include <algorithm>
#include <cmath>

#include "audio/hann_resampler.h"
#include "kernels/activation.h"

namespace syrinx {
namespace {

constexpr WeightType kCodesType = WeightType::kF32;
constexpr int64_t kSameTaps = 3;        // taps of the convolutions over HuBERT's rows
constexpr int64_t kHubertMargin = 160;  // samples of silence before and after a recording
constexpr int64_t kHeardFrames = 6;     // frames per piece of DAC's encoder
constexpr int64_t kJoinedFrames = 64;   // frames per piece of the quantizers
constexpr int64_t kMostConvBlocks = 8;

/// Runs a convolution of three taps on `rows`, padded with a row of zeros on both sides.
View same_conv(StepContext& ctx, const PackedConv1d& conv, const View& rows) {
  const int64_t n = rows.shape[0], width = rows.shape[1];
  const View padded = take_rows(ctx, n + 2, width), out = take_rows(ctx, n, conv.out());
  std::fill_n(padded.f32(), width, 0.f);
  std::copy_n(rows.f32(), n * width, padded.f32() + width);
  std::fill_n(padded.f32() + (n + 1) * width, width, 0.f);
  conv1d(ctx, conv, padded, out);
  return out;
}

}  // namespace

XCodecEncoder::XCodecEncoder(const XCodecConfig& config, const Weights& weights)
    : config_(config),
      acoustic_(DacEncoderConfig::of(weights.scope("acoustic_encoder")),
                weights.scope("acoustic_encoder")),
      hubert_(HubertConfig::of(weights.scope("semantic_model")), weights.scope("semantic_model")) {
  int64_t hop = 1;
  for (const int64_t rate : acoustic_.config().rates) hop *= rate;
  const int64_t heard = config.codec.hop() * Hubert::kSampleRate / config.codec.sample_rate;
  every_ = std::max<int64_t>(1, heard / Hubert::kHop);
  if (hop != config.codec.hop() || every_ * Hubert::kHop * config.codec.sample_rate !=
                                       config.codec.hop() * Hubert::kSampleRate) {
    weights.fault("acoustic_encoder.conv1.weight",
                  concat("a frame has ", hop, " samples in the encoder, ", config.codec.hop(),
                         " in the decoder; a row of HuBERT has ", Hubert::kHop, " at 16 kHz"));
  }
  load_semantic(weights.scope("encoder_semantic"));
  join_ = load_linear(weights, "fc", config.width,
                      acoustic_.config().latent + hubert_.config().width, true, kCodesType);
  load_codebooks(weights.scope("quantizer"));
}

PackedConv1d XCodecEncoder::load_conv(const Weights& weights, bool bias) const {
  const int64_t width = hubert_.config().width;
  return PackedConv1d::pack(weights.take("weight", {width, width, kSameTaps}),
                            bias ? weights.take("bias", {width}) : View{});
}

void XCodecEncoder::load_semantic(const Weights& weights) {
  const int64_t width = hubert_.config().width;
  head_ = load_conv(weights.scope("conv"), false);
  // The published number of units is two; a tensor may determine another number.
  const auto known = [](int64_t count) { return count > 0 ? std::min(count, kMostConvBlocks) : 2; };
  for (int64_t b = 0; b < known(weights.count("conv_blocks")); ++b) {
    const Weights w = weights.scope("conv_blocks", b);
    Block block;
    for (int64_t u = 0; u < known(w.count("res_units")); ++u) {
      const Weights unit = w.scope("res_units", u);
      const View mix = unit.scope("conv2").take("weight", {width, width, 1});
      block.units.push_back({load_conv(unit.scope("conv1"), false),
                             PackedLinear::pack(mix.reshape({width, width}), kCodesType)});
    }
    block.conv = load_conv(w.scope("conv"), true);
    blocks_.push_back(std::move(block));
  }
}

void XCodecEncoder::load_codebooks(const Weights& weights) {
  const int64_t size = config_.codec.codebook_size, dim = config_.codec.codebook_dim;
  for (int64_t q = 0; q < config_.codec.codebooks; ++q) {
    const Weights w = weights.scope("quantizers", q);
    quantizer_.add(w.f32("codebook.embed", {size, dim}),
                   load_linear(w, "project_in", dim, config_.width, true, kCodesType),
                   load_linear(w, "project_out", config_.width, dim, true, kCodesType));
  }
}

int64_t XCodecEncoder::semantic_rows(int64_t samples) const {
  const int64_t rate = config_.codec.sample_rate;
  const int64_t heard = (samples * Hubert::kSampleRate + rate - 1) / rate;
  return (Hubert::rows(heard + 2 * kHubertMargin) + every_ - 1) / every_;
}

int64_t XCodecEncoder::frames(int64_t samples) const { return semantic_rows(samples); }

std::vector<float> XCodecEncoder::for_hubert(std::span<const float> samples) const {
  std::vector<float> out(kHubertMargin, 0.f);
  const auto heard = hann_resampled(samples, sample_rate(), Hubert::kSampleRate);
  out.insert(out.end(), heard.begin(), heard.end());
  out.resize(out.size() + kHubertMargin, 0.f);
  return out;
}

Pieces XCodecEncoder::listen(StepContext* const& ctx, std::span<const float> samples,
                             Tensor& rows) const {
  const std::vector<float> heard = for_hubert(samples);
  co_await PieceEnd();
  Tensor all;
  for (Pieces p = hubert_.run(ctx, heard, all); !p.done(); p.next()) co_await PieceEnd();
  const int64_t width = all.shape()[1], count = (all.shape()[0] + every_ - 1) / every_;
  rows = Tensor({count, width}, DType::kF32);
  for (int64_t t = 0; t < count; ++t) {
    std::copy_n(all.f32() + t * every_ * width, width, rows.f32() + t * width);
  }
}

Pieces XCodecEncoder::mix(StepContext* const& ctx, Tensor& rows) const {
  const auto convolve = [&](const PackedConv1d& conv) {
    const View out = same_conv(*ctx, conv, rows);
    std::copy_n(out.f32(), out.count(), rows.f32());
  };
  convolve(head_);
  co_await PieceEnd();
  for (const Block& block : blocks_) {
    for (const Unit& unit : block.units) {
      StepContext& now = *ctx;
      const View inner = take_rows(now, rows.shape()[0], rows.shape()[1]);
      activate(now, Activation::kElu, rows, inner);
      const View wide = same_conv(now, unit.wide, inner);
      activate(now, Activation::kElu, wide, wide);
      linear_add(now, unit.mix, wide, rows);
      co_await PieceEnd();
    }
    convolve(block.conv);
    co_await PieceEnd();
  }
}

/// Writes the frames of DAC's encoder to the first columns of latent [T, D + W].
Pieces XCodecEncoder::hear(StepContext* const& ctx, std::span<const float> samples,
                           Tensor& latent) const {
  const int64_t hop = config_.codec.hop(), count = std::ssize(samples);
  const int64_t total = latent.shape()[0], width = latent.shape()[1];
  // If DAC's strides yield fewer frames than HuBERT, half a frame of silence is added at both
  // ends.
  const int64_t before = acoustic_.frames(count) == total ? 0 : hop / 2;
  const int64_t whole = count + 2 * before;
  DacEncoder::Stream stream = acoustic_.open();
  int64_t made = 0;
  for (int64_t at = 0; at < whole;) {
    StepContext& now = *ctx;
    const int64_t end = std::min(whole, at + kHeardFrames * hop);
    const View x = take_rows(now, end - at, 1);
    for (int64_t i = at; i < end; ++i) {
      const int64_t from = i - before;
      x.f32()[i - at] = from >= 0 && from < count ? samples[static_cast<size_t>(from)] : 0.f;
    }
    const View frames = acoustic_.run(now, x, end == whole, stream);
    SYRINX_CHECK(made + frames.shape[0] <= total, "[xcodec] more than ", total, " frames");
    for (int64_t t = 0; t < frames.shape[0]; ++t) {
      std::copy_n(frames.f32() + t * frames.shape[1], frames.shape[1],
                  latent.f32() + (made + t) * width);
    }
    made += frames.shape[0];
    at = end;
    co_await PieceEnd();
  }
  SYRINX_CHECK(made == total, "[xcodec] ", made, " frames, but HuBERT has ", total);
}

Pieces XCodecEncoder::run(StepContext* const& ctx, std::span<const float> samples,
                          Tensor& codes) const {
  SYRINX_CHECK(std::ssize(samples) >= kLeast, "[xcodec] ", samples.size(), " samples are too few");
  const int64_t total = frames(std::ssize(samples)), sound = acoustic_.config().latent;
  const int64_t width = sound + hubert_.config().width, books = config_.codec.codebooks;
  Tensor latent({total, width}, DType::kF32);
  {
    Tensor rows;
    for (Pieces p = listen(ctx, samples, rows); !p.done(); p.next()) co_await PieceEnd();
    for (Pieces p = mix(ctx, rows); !p.done(); p.next()) co_await PieceEnd();
    for (int64_t t = 0; t < total; ++t) {
      std::copy_n(rows.f32() + t * (width - sound), width - sound,
                  latent.f32() + t * width + sound);
    }
  }
  for (Pieces p = hear(ctx, samples, latent); !p.done(); p.next()) co_await PieceEnd();
  codes = Tensor({total, books}, DType::kI32);
  for (int64_t at = 0; at < total; at += kJoinedFrames) {
    const int64_t end = std::min(total, at + kJoinedFrames);
    const View joined = take_rows(*ctx, end - at, config_.width);
    linear(*ctx, join_, latent.view().slice(at, end), joined);
    quantizer_.run(*ctx, joined,
                   {codes.i32() + at * books, static_cast<size_t>((end - at) * books)});
    co_await PieceEnd();
  }
}

size_t XCodecEncoder::bytes() const {
  size_t sum =
      acoustic_.bytes() + hubert_.bytes() + head_.bytes() + join_.bytes() + quantizer_.bytes();
  for (const Block& block : blocks_) {
    sum += block.conv.bytes();
    for (const Unit& unit : block.units) sum += unit.wide.bytes() + unit.mix.bytes();
  }
  return sum;
}

}  // namespace syrinx
