// Compares the decoder of VibeVoice's acoustic tokenizer with samples of the authors' code; checks
// chunks, batches and configs.
#include "codec/sigma_vae.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "codec/differences.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

class SigmaVaeTest : public testing::TestWithParam<const char*> {
 protected:
  SigmaVaeTest()
      : dir_(SYRINX_BINARY_DIR "/parity/vibevoice/golden/" + std::string(GetParam()) + "/"),
        weights_(open_weights(dir_ + "checkpoint/model.safetensors")),
        config_(SigmaVaeConfig::load(root().sub("acoustic_tokenizer_config"))),
        decoder_(config_, weights_.scope("model.acoustic_tokenizer.decoder"), WeightType::kF32) {}

  Config root() const { return Config::load(dir_ + "checkpoint/config.json"); }
  /// Returns the latents of a golden case in the form that the decoder reads.
  std::vector<float> latents(const Safetensors& golden, int64_t frames) const {
    const Weights model = weights_.scope("model");
    const float factor = model.f32("speech_scaling_factor", {}).f32()[0];
    const float bias = model.f32("speech_bias_factor", {}).f32()[0];
    const float* from = golden.view("latents").f32();
    std::vector<float> out(from, from + frames * config_.latent);
    for (float& x : out) x = x / factor - bias;
    return out;
  }
  LatentJob job(CodecState& state, std::span<const float> latents, std::span<float> out,
                int64_t begin, int64_t end) const {
    const int64_t d = config_.latent, hop = config_.hop();
    return {&state, latents.subspan(size_t(begin * d), size_t((end - begin) * d)),
            out.subspan(size_t(begin * hop), size_t((end - begin) * hop))};
  }

  const std::string dir_;
  const Weights weights_;
  const SigmaVaeConfig config_;
  const SigmaVaeDecoder decoder_;
  fixture::Bench bench_{2};
};

TEST_P(SigmaVaeTest, SamplesOfTheOriginalInAnyChunksAndBatches) {
  std::vector<float> made[2], read[2];
  CodecState states[2] = {decoder_.open(), decoder_.open()};
  const char* cases[] = {"fox", "alone"};
  for (size_t i = 0; i < 2; ++i) {
    const Safetensors golden(dir_ + cases[i] + ".safetensors");
    const View want = golden.view("samples");
    read[i] = latents(golden, want.count() / config_.hop());
    made[i].resize(static_cast<size_t>(want.count()));
    CodecState state = decoder_.open();
    const LatentJob whole = job(state, read[i], made[i], 0, want.count() / config_.hop());
    decoder_.run(bench_.ctx, std::span(&whole, 1));
    EXPECT_LT(relative_difference(made[i], want), 2e-5) << cases[i];
  }
  const std::vector<float> whole[2] = {made[0], made[1]};
  for (std::vector<float>& samples : made) std::ranges::fill(samples, 0.f);
  const LatentJob first[] = {job(states[0], read[0], made[0], 0, 1),
                             job(states[1], read[1], made[1], 0, 2)};
  const LatentJob second = job(states[0], read[0], made[0], 1, 3);
  decoder_.run(bench_.ctx, first);
  decoder_.run(bench_.ctx, std::span(&second, 1));
  EXPECT_TRUE(made[0] == whole[0]);
  EXPECT_TRUE(made[1] == whole[1]);
}

std::string fault_of(const std::string& entry) {
  const std::string text =
      R"({"vae_dim": 8, "encoder_ratios": [5, 4], "encoder_depths": "1-2-3", )" + entry + "}";
  try {
    SigmaVaeConfig::load(Config::parse(text, "config.json"));
  } catch (const LoadError& error) {
    return error.what();
  }
  return "";
}

TEST(SigmaVaeConfigTest, RefusesWhatIsNotSupported) {
  EXPECT_EQ(fault_of(R"("fix_std": 0.5)"), "");
  for (const char* entry :
       {R"("causal": false)", R"("pad_mode": "reflect")", R"("mixer_layer": "conv")",
        R"("layernorm": "LN")", R"("conv_norm": "weight_norm")", R"("disable_last_norm": false)",
        R"("conv_bias": false)", R"("channels": 2)", R"("decoder_ratios": [8, 0])",
        R"("decoder_depths": "3--3")", R"("decoder_depths": "3-0-1")", R"("decoder_depths": "3-3")",
        R"("decoder_depths": "3-3-")", R"("decoder_n_filters": 8192)"}) {
    const std::string key = std::string(entry).substr(1, std::string(entry).find(':') - 2);
    EXPECT_NE(fault_of(entry).find(key), std::string::npos) << entry << fault_of(entry);
  }
  const SigmaVaeConfig config = SigmaVaeConfig::load(Config::parse(
      R"({"vae_dim": 8, "encoder_ratios": [5, 4], "encoder_depths": "1-2-3"})", "config.json"));
  EXPECT_EQ(config.depths, (std::vector<int64_t>{3, 2, 1})) << "those of the encoder, backwards";
  EXPECT_EQ(config.hop(), 20);
  EXPECT_EQ(config.width(0), 128);
  EXPECT_FALSE(config.layer_scale);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, SigmaVaeTest, testing::Values("plain", "other"));

}  // namespace
}  // namespace syrinx
