#include "codec/dac.h"

namespace syrinx {

DacCodecConfig dac_44khz() {
  DacCodecConfig c;
  c.decoder.names = DacNames::kNamed;
  return c;
}

DacCodecConfig load_dac_config(const Config& root) {
  DacCodecConfig c = dac_44khz();
  const std::string type = root.s("model_type");
  if (type != "dac") root.fail("model_type", "expected dac, got " + type);
  c.codebooks = root.i("n_codebooks", 1, 64);
  c.codebook_size = root.i("codebook_size", 1, 1 << 20);
  c.codebook_dim = root.i("codebook_dim", 1, 1 << 12);
  c.sample_rate = root.i("sampling_rate", 1000, 192000);
  DacDecoderConfig& d = c.decoder;
  d.latent = root.i("hidden_size", 1, 1 << 16);
  d.channels = root.i("decoder_hidden_size", 1, 1 << 14);
  d.rates = root.ints("upsampling_ratios", 1, 64);
  if (d.rates.empty() || d.rates.size() > 8 || d.channels % (1 << d.rates.size()) != 0) {
    root.fail("decoder_hidden_size", "must be divisible by 2^n for n = 1 to 8 upsampling_ratios");
  }
  if (c.hop() > c.sample_rate) root.fail("upsampling_ratios", "make a frame longer than a second");
  for (const int64_t rate : d.rates) {
    // For an odd rate, its transposed convolutions return fewer than `rate` samples per input row.
    if (rate % 2 != 0) root.fail("upsampling_ratios", "odd rates are not supported");
  }
  if (root.opt_i("hop_length", c.hop()) != c.hop()) {
    root.fail("hop_length", "expected the product of the ratios, " + std::to_string(c.hop()));
  }
  return c;
}

DacCodec load_dac(const DacCodecConfig& config, const Weights& weights, WeightType type) {
  DacCodec codec(config, weights, type);
  weights.ignore("encoder.*");
  return codec;
}

}  // namespace syrinx
