// Compares the encoder of ESPnet's codec with ESPnet's own (tests/parity/opuslm).
#include "codec/espnet_encoder.h"

#include <gtest/gtest.h>

#include "codec/piece_runner.h"
#include "codec/qwen3_audio_fixture.h"
#include "io/safetensors.h"
#include "nn/stream_pass.h"

namespace syrinx {
namespace {

std::string hearing_golden(const std::string& name) {
  return std::string(SYRINX_BINARY_DIR) + "/parity/opuslm/golden/" + name;
}

class EspnetEncoderTest : public testing::Test {
 protected:
  EspnetEncoderTest()
      : root_(open_weights(
            hearing_golden("hearing/espnet_codec_dac_large_v1.4_360epoch/360epoch.pth"))),
        generator_(root_.scope("codec.generator")),
        encoder_(EspnetCodecConfig::of(generator_), generator_) {}

  std::vector<int32_t> encode(std::span<const float> samples, int threads = 1) {
    fixture::PieceRunner runner(threads);
    Tensor codes;
    pieces_ = runner.run(encoder_.run(runner.ctx, samples, codes));
    EXPECT_EQ(codes.shape()[0], encoder_.frames(std::ssize(samples)));
    return {codes.i32(), codes.i32() + codes.shape().count()};
  }

  Weights root_, generator_;
  EspnetEncoder encoder_;
  int pieces_ = 0;
};

TEST_F(EspnetEncoderTest, CodesAreEspnets) {
  EXPECT_EQ(generator_.report().faults(), "");
  const Safetensors golden(hearing_golden("hearing.safetensors"));
  int compared = 0;
  // The first recording has whole frames. Mirrored samples fill up the last frame of the other two.
  for (const int64_t count : {9333, 16000, 20111}) {
    const View want = golden.view("codes_" + std::to_string(count));
    const auto samples = fixture::golden_signal(count, static_cast<uint32_t>(count));
    const std::vector<int32_t> got = encode(samples);
    EXPECT_EQ(got, std::vector(want.i32(), want.i32() + want.count())) << count;
    EXPECT_NEAR(pieces_, encoder_.pieces(count), 1);
    EXPECT_GT(pieces_, 2) << "others wait for one";
    EXPECT_EQ(encode(samples, 3), got);
    ++compared;
  }
  EXPECT_EQ(compared, 3);
}

TEST_F(EspnetEncoderTest, FramesAreThoseOfTheWholeInAnyPieces) {
  const SeanetEncoder seanet(EspnetCodecConfig::of(generator_).decoder,
                             generator_.scope("encoder"));
  const auto samples = fixture::golden_signal(9333, 9333);
  std::vector<float> whole;
  for (const int64_t piece : {std::ssize(samples), int64_t{640}, int64_t{1777}, int64_t{1}}) {
    fixture::Bench bench(1);
    seanet::Stream stream = seanet.open();
    std::vector<float> got;
    for (int64_t at = 0; at < std::ssize(samples);) {
      const Arena::Mark mark(bench.ctx.arena);
      const int64_t left = std::ssize(samples) - at, n = left < piece + 640 ? left : piece;
      const View x = take_rows(bench.ctx, n, 1);
      std::copy_n(samples.begin() + at, n, x.f32());
      const View frames = seanet.run(bench.ctx, x, n == left, stream);
      got.insert(got.end(), frames.f32(), frames.f32() + frames.count());
      at += n;
    }
    ASSERT_EQ(std::ssize(got), seanet.frames(std::ssize(samples)) * 8) << piece;
    if (whole.empty()) whole = got;
    EXPECT_EQ(got, whole) << piece;
  }
}

TEST_F(EspnetEncoderTest, ARecordingOfLessThanAFrameIsOne) {
  EXPECT_EQ(encode(fixture::golden_signal(20, 1)).size(), 8u);
}

TEST_F(EspnetEncoderTest, ACodecWithoutAnEncoderIsRefusedByName) {
  const Weights weights(
      open_weights(hearing_golden("checkpoint/espnet_codec_dac_large_v1.4_360epoch/360epoch.pth")));
  const Weights generator = weights.scope("codec.generator");
  const EspnetEncoder encoder(EspnetCodecConfig::of(generator), generator);
  const std::vector<std::string> missing = generator.report().missing;
  EXPECT_GT(std::ranges::count(missing, "codec.generator.encoder.model.1.block.0.alpha"), 0);
}

}  // namespace
}  // namespace syrinx
