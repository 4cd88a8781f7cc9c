// Compares Fish Audio's codec with samples and codes of the authors' code; checks chunks and
// batches.
#include "codec/fish_codec.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "audio/wav_file.h"
#include "base/worst.h"
#include "codec/fish_encoder.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"

namespace syrinx {
namespace {

const std::string kFishParity = SYRINX_BINARY_DIR "/parity/";

class FishCodecTest : public testing::Test {
 protected:
  FishCodecTest()
      : root_(open_weights(kFishParity + "fish_speech/golden/checkpoint/codec.pth")),
        weights_(fish_codec_scope(root_)),
        config_(FishCodecConfig::of(weights_)),
        codec_(config_, weights_),
        golden_(kFishParity + "fish_speech/golden/codec.safetensors"),
        codes_(golden_.view("codes").i32(),
               golden_.view("codes").i32() + golden_.view("codes").count()) {}

  int64_t frames() const { return std::ssize(codes_) / config_.codebooks; }
  std::span<const int32_t> part(int64_t begin, int64_t end) const {
    return std::span(codes_).subspan(begin * config_.codebooks, (end - begin) * config_.codebooks);
  }
  /// Decodes frames [0, n) in chunks whose sizes cycle through `cuts`.
  std::vector<float> decode(int64_t n, std::span<const int64_t> cuts) {
    CodecState state = codec_.open();
    std::vector<float> out(static_cast<size_t>(n * config_.hop()));
    int64_t at = 0;
    for (size_t i = 0; at < n; ++i) {
      const int64_t count = std::min(cuts[i % cuts.size()], n - at);
      const CodecJob job{&state, part(at, at + count),
                         std::span(out).subspan(at * config_.hop(), count * config_.hop())};
      codec_.run(bench_.ctx, std::span(&job, 1));
      at += count;
    }
    EXPECT_EQ(state.frames, n);
    return out;
  }
  std::vector<float> whole(int64_t n) {
    const int64_t cut[] = {n};
    return decode(n, cut);
  }

  Weights root_, weights_;
  FishCodecConfig config_;
  FishCodec codec_;
  Safetensors golden_;
  std::vector<int32_t> codes_;
  fixture::Bench bench_{1};
};

TEST_F(FishCodecTest, SizesAreThoseOfTheTensors) {
  EXPECT_EQ(config_.codebooks, 10);
  EXPECT_EQ(config_.semantic_codes, 48);
  EXPECT_EQ(config_.residual_codes, 24);
  EXPECT_EQ(config_.latent, 16);
  EXPECT_EQ(config_.post_layers, 1);
  EXPECT_EQ(config_.pre_layers, 1);
  EXPECT_EQ(config_.rates, (std::vector<int64_t>{4, 2, 2, 2}));
  EXPECT_EQ(config_.encoder_rates, (std::vector<int64_t>{2, 2, 2, 4}));
  EXPECT_EQ(config_.encoder_layers, (std::vector<int64_t>{0, 0, 0, 1}));
  EXPECT_EQ(config_.hop(), 128);
  const FishCodecConfig published;
  EXPECT_EQ(published.hop(), 2048);
}

TEST_F(FishCodecTest, SamplesAreTheAuthors) {
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
    EXPECT_LT(worst, 1e-4f) << n << " frames";
    EXPECT_GT(loudest, 0.1f);
    all = worse(all, worst);
  }
  RecordProperty("worst", std::to_string(all * 1e6) + "e-6");
}

TEST_F(FishCodecTest, ChunksGiveTheBitsOfTheWhole) {
  const std::vector<float> all = whole(frames());
  const std::vector<std::vector<int64_t>> chunkings{{1}, {2, 5, 1, 9}, {3}, {128, 1, 1}};
  for (const std::vector<int64_t>& cuts : chunkings)
    EXPECT_TRUE(decode(frames(), cuts) == all) << "chunks of " << cuts[0];
}

TEST_F(FishCodecTest, BatchesGiveTheBitsOfOneStream) {
  const int64_t lengths[] = {13, 1, 30, 7};
  std::vector<CodecState> states;
  std::vector<std::vector<float>> outs;
  std::vector<CodecJob> jobs;
  for (const int64_t n : lengths) {
    states.push_back(codec_.open());
    outs.emplace_back(n * config_.hop());
  }
  for (size_t i = 0; i < 4; ++i) jobs.push_back({&states[i], part(0, lengths[i]), outs[i]});
  fixture::Bench two(2);
  codec_.run(two.ctx, jobs);
  for (size_t i = 0; i < 4; ++i) EXPECT_TRUE(outs[i] == whole(lengths[i])) << "stream " << i;
}

TEST_F(FishCodecTest, NoFramesAndBadCodes) {
  CodecState state = codec_.open();
  const CodecJob nothing{&state, {}, {}};
  codec_.run(bench_.ctx, std::span(&nothing, 1));
  EXPECT_EQ(state.frames, 0);
  std::vector<int32_t> codes(10, 0);
  codes[4] = -1;
  std::vector<float> out(128);
  const CodecJob bad{&state, codes, out};
  EXPECT_THROW(codec_.run(bench_.ctx, std::span(&bad, 1)), InternalError);
}

TEST_F(FishCodecTest, CodesOfSpeechAreTheAuthorsHoweverItComes) {
  const FishEncoder encoder(config_, weights_);
  const WeightReport report = weights_.report({"*causal_mask", "*freqs_cis"});
  EXPECT_EQ(report.faults(), "");
  const std::vector<float> speech = read_wav(kFishParity + "mimi/speech.wav").samples;
  for (const int64_t n : {1, 127, 128, 129, 1000, 20000}) {
    const View want = golden_.view("encoded_" + std::to_string(n));
    const std::span<const float> samples = std::span(speech).first(static_cast<size_t>(n));
    const std::vector<int32_t> codes = encoder.encode(bench_.ctx, samples);
    EXPECT_EQ(encoder.frames(n), want.shape[0]);
    EXPECT_TRUE(std::equal(codes.begin(), codes.end(), want.i32(), want.i32() + want.count())) << n;
    // Encodes one frame at a time.
    FishEncoder::Stream stream = encoder.open();
    std::vector<int32_t> pieces(codes.size());
    for (int64_t t = 0; t < want.shape[0] && t < 20; ++t) {
      ASSERT_GE(encoder.room(bench_.ctx, stream), 1);
      const int64_t count = std::min(config_.hop(), n - t * config_.hop());
      encoder.run(bench_.ctx, stream, samples.subspan(t * config_.hop(), count),
                  std::span(pieces).subspan(t * config_.codebooks, config_.codebooks));
    }
    const auto compared = std::min<size_t>(codes.size(), 20 * config_.codebooks);
    EXPECT_TRUE(std::equal(pieces.begin(), pieces.begin() + compared, codes.begin())) << n;
  }
  EXPECT_TRUE(encoder.encode(bench_.ctx, {}).empty());
}

}  // namespace
}  // namespace syrinx
