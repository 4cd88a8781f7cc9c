#include "codec/xcodec.h"

#include <algorithm>

#include "base/check.h"
#include "base/error.h"

namespace syrinx {
namespace {

constexpr int64_t kMostBlocks = 8;

/// Merges fc2 with the linears of the codebooks, if they have any, to one linear of the
/// concatenated entries.
PackedLinear joined_projection(const XCodecConfig& config, const Weights& weights) {
  const int64_t q = config.codec.codebooks, dim = config.codec.codebook_dim,
                latent = config.codec.decoder.latent, width = config.width;
  const Weights outer = weights.scope("fc2");
  const Tensor fc = outer.f32("weight", {latent, width});
  Tensor all({latent, q * dim}, DType::kF32), bias = outer.f32("bias", {latent});
  std::vector<double> sum(static_cast<size_t>(dim));
  for (int64_t i = 0; i < q; ++i) {
    if (!config.projected) {
      for (int64_t o = 0; o < latent; ++o)
        std::copy_n(fc.f32() + o * width, width, all.f32() + (o * q + i) * dim);
      continue;
    }
    const Weights inner = weights.scope("quantizer").scope("quantizers", i).scope("project_out");
    const Tensor w = inner.f32("weight", {width, dim}), b = inner.f32("bias", {width});
    for (int64_t o = 0; o < latent; ++o) {
      const float* row = fc.f32() + o * width;
      double constant = bias.f32()[o];
      std::fill(sum.begin(), sum.end(), 0.0);
      for (int64_t h = 0; h < width; ++h) {
        const double factor = row[h];
        for (int64_t d = 0; d < dim; ++d) sum[d] += factor * w.f32()[h * dim + d];
        constant += factor * b.f32()[h];
      }
      std::copy(sum.begin(), sum.end(), all.f32() + o * q * dim + i * dim);
      bias.f32()[o] = static_cast<float>(constant);
    }
  }
  return PackedLinear::pack(all, WeightType::kF32, bias);
}

}  // namespace

XCodecConfig XCodecConfig::higgs() {
  XCodecConfig c;
  c.codec.codebooks = 8;
  c.codec.codebook_dim = 64;
  c.codec.sample_rate = 24000;
  c.codec.decoder = {.latent = 256, .channels = 1024, .rates = {8, 5, 4, 2, 3}};
  c.codec.decoder.bounded = false;
  c.codec.decoder.names = DacNames::kNamed;
  return c;
}

XCodecConfig XCodecConfig::general() {
  XCodecConfig c = higgs();
  c.codec.codebook_dim = c.width;
  c.projected = false;
  c.codec.sample_rate = 16000;
  c.codec.decoder.rates = {8, 5, 4, 2};
  return c;
}

XCodecConfig XCodecConfig::of(const Weights& weights, const XCodecConfig& published) {
  XCodecConfig c = published;
  DacCodecConfig& codec = c.codec;
  DacDecoderConfig& d = codec.decoder;
  const Weights quantizers = weights.scope("quantizer"),
                decoder = weights.scope("acoustic_decoder");
  if (const int64_t count = quantizers.count("quantizers"); count > 0) codec.codebooks = count;
  const auto sizes = [](const Weights& scope, const char* name, int dims) {
    std::optional<Shape> shape = scope.shape(name);
    return shape && shape->dims() == dims ? shape : std::nullopt;
  };
  if (const auto book = sizes(quantizers, "quantizers.0.codebook.embed", 2)) {
    codec.codebook_size = (*book)[0], codec.codebook_dim = (*book)[1];
  }
  if (const auto fc = sizes(weights, "fc2.weight", 2)) d.latent = (*fc)[0], c.width = (*fc)[1];
  if (const auto first = sizes(decoder, "conv1.weight", 3)) d.channels = (*first)[0];
  if (const int64_t blocks = std::min(decoder.count("block"), kMostBlocks); blocks > 0) {
    d.rates.assign(static_cast<size_t>(blocks), 1);
    for (int64_t b = 0; b < blocks; ++b) {
      const auto up = sizes(decoder.scope("block", b), "conv_t1.weight", 3);
      if (up) d.rates[static_cast<size_t>(b)] = std::clamp<int64_t>((*up)[2] / 2, 1, 64);
    }
  }
  const std::string where = weights.full("acoustic_decoder");
  if (d.channels % (int64_t{1} << d.rates.size()) != 0) {
    throw LoadError(concat(where, ": ", d.channels, " channels cannot be halved for ",
                           d.rates.size(), " blocks"));
  }
  if (!c.projected && codec.codebook_dim != c.width) {
    throw LoadError(concat(weights.full("fc2.weight"), ": takes ", c.width,
                           " inputs, but codebook entries have ", codec.codebook_dim));
  }
  if (codec.hop() > codec.sample_rate) throw LoadError(where + ": frames exceed a second");
  return c;
}

DacCodec load_xcodec(const XCodecConfig& config, const Weights& weights, WeightType type) {
  std::vector<Tensor> books;
  for (int64_t i = 0; i < config.codec.codebooks; ++i) {
    const Weights book = weights.scope("quantizer").scope("quantizers", i).scope("codebook");
    books.push_back(book.f32("embed", {config.codec.codebook_size, config.codec.codebook_dim}));
  }
  for (const char* training : {"embed_avg", "cluster_size", "inited"}) {
    weights.ignore(concat("quantizer.quantizers.*.codebook.", training));
  }
  for (const char* encoder : {"acoustic_encoder.*", "encoder_semantic.*", "semantic_model.*",
                              "fc.*", "quantizer.quantizers.*.project_in.*"}) {
    weights.ignore(encoder);
  }
  weights.ignore("decoder_semantic.*");  // only training uses it
  weights.ignore("fc1.*");
  return {config.codec, std::move(books), joined_projection(config, weights),
          DacDecoder(config.codec.decoder, weights.scope("acoustic_decoder"), type)};
}

}  // namespace syrinx
