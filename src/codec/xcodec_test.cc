// Compares X-Codec's decoder with transformers on the small checkpoint of tests/parity/higgs;
// dac_codec_test.cc checks streams for every codec of the DAC kind.
#include "codec/xcodec.h"

#include "codec/dac_fixture.h"

namespace syrinx {
namespace {

std::string xcodec_golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/higgs/golden/" + name;
}

TEST(XCodec, SamplesAreTheAuthors) {
  const Weights root(open_weights(xcodec_golden("checkpoint")));
  const Weights weights = root.scope("tied.embedding.modality_embeddings.0.model");
  const XCodecConfig config = XCodecConfig::of(weights, XCodecConfig::higgs());
  EXPECT_EQ(config.codec.codebooks, 8);
  EXPECT_EQ(config.codec.codebook_size, 32);
  EXPECT_EQ(config.codec.decoder.rates, (std::vector<int64_t>{8, 5, 4, 2, 3}));
  EXPECT_EQ(config.codec.hop(), 960);
  EXPECT_EQ(config.width, 32);
  const DacCodec codec = load_xcodec(config, weights, WeightType::kF32);
  EXPECT_TRUE(weights.report().missing.empty());
  EXPECT_EQ(fixture::compare_golden(codec, xcodec_golden("codec.safetensors"), 0, 1e-5f), 5);
}

TEST(XCodec, SamplesAreNotBounded) {
  const Weights root(dummy_weights());
  XCodecConfig config = XCodecConfig::of(root, XCodecConfig::higgs());
  EXPECT_EQ(config.codec.decoder.channels, 1024);
  EXPECT_EQ(config.codec.lookahead(), 10);
  config.codec.codebook_size = 16, config.codec.codebook_dim = 4, config.width = 16;
  config.codec.decoder.latent = 12, config.codec.decoder.channels = 64;
  config.codec.decoder.rates = {3, 5};
  const auto samples = [&](bool bounded) {
    config.codec.decoder.bounded = bounded;
    const DacCodec codec = load_xcodec(config, root, WeightType::kF32);
    fixture::Bench bench;
    std::vector<int32_t> codes(static_cast<size_t>(50 * config.codec.codebooks));
    for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<int32_t>(i * i % 16);
    std::vector<float> out(static_cast<size_t>(50 * config.codec.hop()));
    DacCodecState state = codec.open();
    const DacCodecJob job{&state, codes, 50, true, out};
    codec.run(bench.ctx, std::span(&job, 1));
    return out;
  };
  const std::vector<float> free = samples(false), bounded = samples(true);
  for (size_t i = 0; i < free.size(); ++i) ASSERT_NEAR(std::tanh(free[i]), bounded[i], 1e-5f);
  EXPECT_NE(free, bounded);
}

}  // namespace
}  // namespace syrinx
