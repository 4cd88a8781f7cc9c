// Compares VoxCPM2's AudioVAE with samples and latents of the authors' code; checks chunks, batches
// and configs.
#include "codec/audio_vae.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audio/wav_file.h"
#include "base/error.h"
#include "base/worst.h"
#include "codec/audio_vae_encoder.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

const std::string kVaeParity = SYRINX_BINARY_DIR "/parity/";
const std::string kVaeGolden = kVaeParity + "voxcpm2/golden/";

class AudioVaeTest : public testing::Test {
 protected:
  AudioVaeTest()
      : weights_(open_weights(kVaeGolden + "checkpoint/audiovae.pth")),
        config_(AudioVaeConfig::load(
            Config::load(kVaeGolden + "checkpoint/config.json").sub("audio_vae_config"))),
        decoder_(config_, weights_),
        golden_(kVaeGolden + "vae.safetensors"),
        latents_(golden_.view("latents").f32(),
                 golden_.view("latents").f32() + golden_.view("latents").count()) {}

  int64_t frames() const { return std::ssize(latents_) / config_.latent; }
  std::span<const float> part(int64_t begin, int64_t end) const {
    return std::span(latents_).subspan(begin * config_.latent, (end - begin) * config_.latent);
  }
  /// Decodes frames [0, n) in chunks whose sizes cycle through `cuts`.
  std::vector<float> decode(int64_t n, std::span<const int64_t> cuts) {
    CodecState state = decoder_.open();
    const int64_t hop = config_.decoder_hop();
    std::vector<float> out(static_cast<size_t>(n * hop));
    int64_t at = 0;
    for (size_t i = 0; at < n; ++i) {
      const int64_t count = std::min(cuts[i % cuts.size()], n - at);
      const LatentJob job{&state, part(at, at + count),
                          std::span(out).subspan(at * hop, count * hop)};
      decoder_.run(bench_.ctx, std::span(&job, 1));
      at += count;
    }
    EXPECT_EQ(state.frames, n);
    return out;
  }
  std::vector<float> whole(int64_t n) {
    const int64_t cut[] = {n};
    return decode(n, cut);
  }
  /// Encodes samples, padded with zeros to whole frames, `piece` frames at a time.
  std::vector<float> encode(std::vector<float> samples, int64_t piece) {
    const AudioVaeEncoder encoder(config_, weights_);
    const int64_t hop = config_.encoder_hop();
    const int64_t total = (std::ssize(samples) + hop - 1) / hop;
    samples.resize(static_cast<size_t>(total * hop), 0.f);
    std::vector<float> out(static_cast<size_t>(total * config_.latent));
    AudioVaeEncoder::Stream stream = encoder.open();
    for (int64_t at = 0; at < total; at += piece) {
      const int64_t n = std::min(piece, total - at);
      encoder.run(bench_.ctx, stream, std::span(samples).subspan(at * hop, n * hop),
                  std::span(out).subspan(at * config_.latent, n * config_.latent));
    }
    return out;
  }
  /// Returns the part of ../mimi/speech.wav that make_golden.py encodes.
  static std::vector<float> speech(size_t count) {
    const std::vector<float> all = read_wav(kVaeParity + "mimi/speech.wav").samples;
    return {all.begin() + 8000, all.begin() + 8000 + static_cast<int64_t>(count)};
  }
  static std::string refusal(const std::string& json) {
    try {
      AudioVaeConfig::load(Config::parse(json, "config.json"));
    } catch (const LoadError& error) {
      return error.what();
    }
    return "";
  }

  Weights weights_;
  AudioVaeConfig config_;
  AudioVaeDecoder decoder_;
  Safetensors golden_;
  std::vector<float> latents_;
  fixture::Bench bench_{1};
};

TEST_F(AudioVaeTest, SamplesAreTheAuthors) {
  float all = 0;
  for (const int64_t n : {1, 2, 3, 9, 200}) {
    const View want = golden_.view("tail_" + std::to_string(n));
    const std::vector<float> samples = whole(n);
    const std::span<const float> got = std::span(samples).last(want.count());
    float worst = 0, loudest = 0;
    for (int64_t i = 0; i < want.count(); ++i) {
      worst = worse(worst, std::fabs(got[i] - want.f32()[i]));
      loudest = std::max(loudest, std::fabs(want.f32()[i]));
    }
    EXPECT_LT(worst, 4e-5f) << n << " frames";  // the authors' code has an error of 2.5e-5
    EXPECT_GT(loudest, 0.05f);
    all = worse(all, worst);
  }
  RecordProperty("worst", std::to_string(all * 1e6) + "e-6");
}

TEST_F(AudioVaeTest, LatentsOfSpeechAreTheAuthors) {
  float all = 0;
  for (const size_t n : {1, 19, 20, 21, 1000, 4001}) {
    const View want = golden_.view("encoded_" + std::to_string(n));
    const std::vector<float> got = encode(speech(n), AudioVaeEncoder::kPieceFrames);
    ASSERT_EQ(std::ssize(got), want.count()) << n;
    for (int64_t i = 0; i < want.count(); ++i) all = worse(all, std::fabs(got[i] - want.f32()[i]));
  }
  EXPECT_LT(all, 2e-5f);
  RecordProperty("worst", std::to_string(all * 1e6) + "e-6");
}

TEST_F(AudioVaeTest, ChunksGiveTheBitsOfTheWhole) {
  const std::vector<float> all = whole(frames());
  const std::vector<std::vector<int64_t>> chunkings{{1}, {2, 5, 1, 9}, {3}, {128, 1, 1}};
  for (const std::vector<int64_t>& cuts : chunkings)
    EXPECT_TRUE(decode(frames(), cuts) == all) << "chunks of " << cuts[0];
  const std::vector<float> latents = encode(speech(1501), AudioVaeEncoder::kPieceFrames);
  for (const int64_t piece : {1, 3, 7}) EXPECT_TRUE(encode(speech(1501), piece) == latents);
}

TEST_F(AudioVaeTest, BatchesGiveTheBitsOfOneStream) {
  const int64_t lengths[] = {13, 1, 30, 7};
  std::vector<CodecState> states;
  std::vector<std::vector<float>> outs;
  std::vector<LatentJob> jobs;
  for (const int64_t n : lengths) {
    states.push_back(decoder_.open());
    outs.emplace_back(n * config_.decoder_hop());
  }
  for (size_t i = 0; i < 4; ++i) jobs.push_back({&states[i], part(0, lengths[i]), outs[i]});
  fixture::Bench two(2);
  decoder_.run(two.ctx, jobs);
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(outs[i] == whole(lengths[i])) << "stream " << i;
}

TEST_F(AudioVaeTest, EveryTensorIsAskedFor) {
  const AudioVaeEncoder encoder(config_, weights_);
  EXPECT_EQ(weights_.report().faults(), "");
  EXPECT_GT(decoder_.bytes(), 0u);
}

TEST_F(AudioVaeTest, JobsOfAnotherSizeAreBugs) {
  CodecState state = decoder_.open();
  std::vector<float> out(static_cast<size_t>(config_.decoder_hop()));
  const LatentJob wrong[] = {{&state, part(0, 2), out}, {&state, std::span(latents_).first(3), {}}};
  for (const LatentJob& job : wrong)
    EXPECT_THROW(decoder_.run(bench_.ctx, std::span(&job, 1)), InternalError);
  EXPECT_NO_THROW(decoder_.run(bench_.ctx, {}));
  const AudioVaeEncoder encoder(config_, weights_);
  AudioVaeEncoder::Stream stream = encoder.open();
  EXPECT_THROW(encoder.run(bench_.ctx, stream, out, out), InternalError);
}

TEST_F(AudioVaeTest, ConfigsAreReadAndChecked) {
  const AudioVaeConfig published = AudioVaeConfig::load(Config::parse("{}", "config.json"));
  EXPECT_EQ(published.encoder_hop(), 640);
  EXPECT_EQ(published.decoder_hop(), 1920);
  EXPECT_EQ(published.rate_index(), 3);
  EXPECT_TRUE(AudioVaeConfig::load(Config::parse(R"({"sr_bin_boundaries": null})", "x"))
                  .rate_bounds.empty());
  const std::pair<const char*, const char*> wrong[] = {
      {R"({"depthwise": false})", "depthwise"},
      {R"({"use_noise_block": true})", "use_noise_block"},
      {R"({"cond_type": "concat"})", "cond_type"},
      {R"({"cond_out_layer": true})", "cond_out_layer"},
      {R"({"sr_bin_boundaries": [3, 2]})", "sr_bin_boundaries"},
      {R"({"encoder_rates": []})", "encoder_rates"},
      {R"({"encoder_rates": [64, 64, 64]})", "encoder_rates"},
      {R"({"decoder_rates": [8, 6, 5, 2, 2, 4]})", "decoder_rates"},
      {R"({"decoder_rates": [64, 64, 64, 64, 64, 64, 64, 64], "decoder_dim": 256})",
       "decoder_rates: make a frame longer"},
      {R"({"decoder_dim": 100})", "decoder_dim"},
      {R"({"encoder_dim": 16384})", "encoder_dim"},
      {R"({"latent_dim": 0})", "latent_dim"}};
  for (const auto& [json, key] : wrong)
    EXPECT_NE(refusal(json).find(key), std::string::npos) << json << ": " << refusal(json);
}

}  // namespace
}  // namespace syrinx
