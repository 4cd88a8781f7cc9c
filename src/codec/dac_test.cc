// Compares DAC with transformers' DacModel on a small checkpoint (tests/parity/dac).
#include "codec/dac.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "codec/dac_fixture.h"
#include "io/test_dir.h"

namespace syrinx {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/dac/golden/" + name;
}

TEST(Dac, SamplesAreThoseOfTransformers) {
  const DacCodecConfig config = load_dac_config(Config::load(golden("checkpoint/config.json")));
  const Weights weights(open_weights(golden("checkpoint")));
  const DacCodec codec = load_dac(config, weights, WeightType::kF32);
  EXPECT_NO_THROW(weights.finish());
  EXPECT_EQ(fixture::compare_golden(codec, golden("golden.safetensors"), 0, 4e-6f), 7);
}

TEST(Dac, HalvesAreClose) {
  const DacCodecConfig config = load_dac_config(Config::load(golden("checkpoint/config.json")));
  const Safetensors file(golden("golden.safetensors"));
  const View codes = file.view("codes");
  const int64_t frames = 40;
  const auto decode = [&](WeightType type) {
    const DacCodec codec = load_dac(config, Weights(open_weights(golden("checkpoint"))), type);
    fixture::Bench bench;
    DacCodecState state = codec.open();
    Tensor out({frames * config.hop()}, DType::kF32);
    const DacCodecJob job{&state,
                          {codes.i32(), static_cast<size_t>(frames * config.codebooks)},
                          frames,
                          true,
                          {out.f32(), static_cast<size_t>(out.view().count())}};
    codec.run(bench.ctx, std::span(&job, 1));
    return out;
  };
  const Tensor half = decode(WeightType::kBF16), full = decode(WeightType::kF32);
  const double error = fixture::relative_rms(half, full);
  EXPECT_GT(error, 0);
  EXPECT_LT(error, 0.03);
  RecordProperty("relative_rms", std::to_string(error));
}

TEST(Dac, ThePublishedModel) {
  EXPECT_EQ(dac_44khz().hop(), 512);
  EXPECT_EQ(dac_44khz().lookahead(), 10);
}

TEST(Dac, NamesWhatIsNotSupported) {
  const std::string text = slurp(golden("checkpoint/config.json"));
  const auto changed = [&](const std::string& from, const std::string& to) {
    std::string copy = text;
    const size_t at = copy.find(from);
    EXPECT_NE(at, copy.npos) << from;
    copy.replace(at, from.size(), to);
    try {
      load_dac_config(Config::parse(copy, "config.json"));
    } catch (const LoadError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(changed("44100", "16000"), "");
  EXPECT_NE(changed("\"dac\"", "\"xcodec\"").find("xcodec"), std::string::npos);
  EXPECT_NE(changed("\"hop_length\": 512", "\"hop_length\": 320").find("512"), std::string::npos);
  EXPECT_NE(changed("    8,\n    8,\n    4,\n    2", "    5,\n    8,\n    4,\n    2").find("odd"),
            std::string::npos);
  EXPECT_NE(changed("\"n_codebooks\"", "\"n_codebook\"").find("n_codebooks"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
