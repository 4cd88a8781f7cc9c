#include "codec/snac.h"

#include <string>

namespace syrinx {

SnacConfig::SnacConfig() {
  codec.codebooks = 3;
  codec.codebook_size = 4096;
  codec.sample_rate = 24000;
  codec.decoder = {.latent = 768,
                   .channels = 1024,
                   .rates = {8, 8, 4, 2},
                   .depthwise = true,
                   .noise = true,
                   .names = DacNames::kSequential};
}

SnacConfig SnacConfig::load(const Config& root) {
  SnacConfig c;
  c.codec.sample_rate = root.i("sampling_rate", 1000, 192000);
  c.codec.codebook_size = root.i("codebook_size", 1, 1 << 20);
  c.codec.codebook_dim = root.i("codebook_dim", 1, 1 << 12);
  c.strides = root.ints("vq_strides", 1, 64);
  c.codec.codebooks = static_cast<int64_t>(c.strides.size());
  DacDecoderConfig& d = c.codec.decoder;
  d.channels = root.i("decoder_dim", 1, 1 << 14);
  d.rates = root.ints("decoder_rates", 1, 64);
  d.depthwise = root.b("depthwise");
  d.noise = root.b("noise");
  const int64_t encoder_dim = root.i("encoder_dim", 1, 1 << 12);
  const auto encoder_rates = root.ints("encoder_rates", 1, 64);
  root.check("encoder_rates", !encoder_rates.empty() && encoder_rates.size() <= 8,
             "expected 1 to 8 rates");
  d.latent = root.opt_i("latent_dim", encoder_dim << encoder_rates.size(), 1, 1 << 16);
  root.check("attn_window_size", !root.has("attn_window_size"),
             "local attention is not supported; the 24 kHz model has none");
  root.check("decoder_dim",
             !d.rates.empty() && d.rates.size() <= 8 && d.channels % (1 << d.rates.size()) == 0,
             "must be divisible by 2^n for n = 1 to 8 decoder_rates");
  root.check("decoder_rates", d.hop() <= c.codec.sample_rate, "frames exceed a second");
  root.check("vq_strides", !c.strides.empty() && c.strides.size() <= 16, "expected 1 to 16");
  for (const int64_t stride : c.strides) {
    root.check("vq_strides", c.strides.front() % stride == 0,
               "every stride must divide the first stride");
  }
  return c;
}

DacCodec load_snac(const SnacConfig& config, const Weights& weights, WeightType type) {
  DacCodec codec(config.codec, weights, type);
  weights.ignore("encoder.*");
  return codec;
}

}  // namespace syrinx
