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
  root.check("model_type", type == "dac", "expected dac, got " + type);
  c.codebooks = root.i("n_codebooks", 1, 64);
  c.codebook_size = root.i("codebook_size", 1, 1 << 20);
  c.codebook_dim = root.i("codebook_dim", 1, 1 << 12);
  c.sample_rate = root.i("sampling_rate", 1000, 192000);
  DacDecoderConfig& d = c.decoder;
  d.latent = root.i("hidden_size", 1, 1 << 16);
  d.channels = root.i("decoder_hidden_size", 1, 1 << 14);
  d.rates = root.ints("upsampling_ratios", 1, 64);
  root.check("decoder_hidden_size",
             !d.rates.empty() && d.rates.size() <= 8 && d.channels % (1 << d.rates.size()) == 0,
             "must be divisible by 2^n for n = 1 to 8 upsampling_ratios");
  root.check("upsampling_ratios", c.hop() <= c.sample_rate, "make a frame longer than a second");
  for (const int64_t rate : d.rates) {
    // For an odd rate, its transposed convolutions return fewer than `rate` samples per input row.
    root.check("upsampling_ratios", rate % 2 == 0, "odd rates are not supported");
  }
  root.same("hop_length", c.hop(), "the product of the ratios");
  return c;
}

DacCodec load_dac(const DacCodecConfig& config, const Weights& weights, WeightType type) {
  DacCodec codec(config, weights, type);
  weights.ignore("encoder.*");
  return codec;
}

}  // namespace syrinx
