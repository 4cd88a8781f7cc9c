// Compares X-Codec's encoder and its HuBERT with transformers on the small models of
// tests/parity/higgs.
#include "codec/xcodec_encoder.h"

#include <gtest/gtest.h>

#include "base/worst.h"
#include "codec/piece_runner.h"
#include "codec/qwen3_audio_fixture.h"
#include "io/safetensors.h"

namespace syrinx {
namespace {

std::string encoder_golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/higgs/golden/" + name;
}

TEST(HubertEncoder, RowsAreTransformers) {
  const Weights weights(open_weights(encoder_golden("hubert.safetensors")));
  const HubertConfig config = HubertConfig::of(weights);
  EXPECT_EQ(config.width, 128);
  EXPECT_EQ(config.heads(), 2);
  EXPECT_EQ(config.channels, 16);
  EXPECT_EQ(config.layers, 3);
  EXPECT_EQ(config.ffn, 96);
  EXPECT_EQ(config.position_taps, 32);
  EXPECT_EQ(config.position_groups, 8);
  const Hubert hubert(config, weights);
  EXPECT_EQ(weights.report().faults(), "");
  const Safetensors golden(encoder_golden("hubert_features.safetensors"));
  float worst = 0;
  for (const int64_t count : {400, 16000, 21333}) {
    const View want = golden.view("features_" + std::to_string(count));
    const auto samples = fixture::golden_signal(count, static_cast<uint32_t>(count));
    fixture::PieceRunner runner;
    Tensor rows;
    runner.run(hubert.run(runner.ctx, samples, rows));
    ASSERT_EQ(rows.shape(), want.shape) << count;
    ASSERT_EQ(rows.shape()[0], Hubert::rows(count));
    worst = worse(worst, static_cast<float>(fixture::difference(rows, want)));
  }
  EXPECT_LT(worst, 1e-5f);
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

class XCodecEncoderTest : public testing::Test {
 protected:
  XCodecEncoderTest()
      : root_(open_weights(encoder_golden("checkpoint"))),
        weights_(root_.scope("tied.embedding.modality_embeddings.0.model")),
        encoder_(XCodecConfig::of(weights_, XCodecConfig::higgs()), weights_) {}

  std::vector<int32_t> encode(std::span<const float> samples, int threads = 1) {
    fixture::PieceRunner runner(threads);
    Tensor codes;
    pieces_ = runner.run(encoder_.run(runner.ctx, samples, codes));
    EXPECT_EQ(codes.shape()[0], encoder_.frames(std::ssize(samples)));
    return {codes.i32(), codes.i32() + codes.shape().count()};
  }

  Weights root_, weights_;
  XCodecEncoder encoder_;
  int pieces_ = 0;
};

TEST_F(XCodecEncoderTest, CodesAreTheAuthors) {
  const Safetensors golden(encoder_golden("encoder.safetensors"));
  for (const int64_t count : {24000, 24500, 24950, 47000}) {
    const View want = golden.view("codes_" + std::to_string(count));
    const auto samples = fixture::golden_signal(count, static_cast<uint32_t>(count));
    const std::vector<int32_t> got = encode(samples);
    EXPECT_EQ(got, std::vector(want.i32(), want.i32() + want.count())) << count;
    EXPECT_EQ(encode(samples, 3), got);
    EXPECT_GT(pieces_, 20) << "others wait for one";
  }
}

TEST_F(XCodecEncoderTest, FramesOfSoundAreThoseOfTheWholeInAnyPieces) {
  const Weights weights = weights_.scope("acoustic_encoder");
  const DacEncoder dac(DacEncoderConfig::of(weights), weights);
  EXPECT_EQ(dac.config().rates, (std::vector<int64_t>{8, 5, 4, 2, 3}));
  const Safetensors golden(encoder_golden("encoder.safetensors"));
  float worst = 0;
  // The authors' code pads the second recording before its encoder.
  for (const auto& [count, margin] : {std::pair(24000, 0), {24500, 480}, {24950, 0}, {47000, 0}}) {
    const View want = golden.view("acoustic_" + std::to_string(count));
    std::vector<float> samples(static_cast<size_t>(count + 2 * margin));
    std::ranges::copy(fixture::golden_signal(count, static_cast<uint32_t>(count)),
                      samples.begin() + margin);
    ASSERT_EQ(dac.frames(std::ssize(samples)), want.shape[0]) << count;
    std::vector<float> whole;
    for (const int64_t piece : {std::ssize(samples), int64_t{960}, int64_t{1777}}) {
      fixture::Bench bench(1);
      DacEncoder::Stream stream = dac.open();
      std::vector<float> got;
      for (int64_t at = 0; at < std::ssize(samples); at += piece) {
        const Arena::Mark mark(bench.ctx.arena);
        const int64_t n = std::min(piece, std::ssize(samples) - at);
        const View x = take_rows(bench.ctx, n, 1);
        std::copy_n(samples.begin() + at, n, x.f32());
        const View frames = dac.run(bench.ctx, x, at + n == std::ssize(samples), stream);
        got.insert(got.end(), frames.f32(), frames.f32() + frames.count());
      }
      ASSERT_EQ(std::ssize(got), want.count()) << count;
      if (whole.empty()) whole = got;
      EXPECT_EQ(got, whole) << piece;
    }
    const View got{whole.data(), DType::kF32, want.shape};
    worst = worse(worst, static_cast<float>(fixture::difference(got, want)));
  }
  EXPECT_LT(worst, 5e-5f) << "the authors' are float32 as well";
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
}

TEST_F(XCodecEncoderTest, AnEncoderOfOtherFramesIsRefused) {
  XCodecConfig config = XCodecConfig::of(weights_, XCodecConfig::higgs());
  config.codec.decoder.rates = {8, 5, 4, 2};
  const XCodecEncoder encoder(config, weights_);
  EXPECT_NE(weights_.report().faults().find("960"), std::string::npos);
}

}  // namespace
}  // namespace syrinx
