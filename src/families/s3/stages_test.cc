// Tests the stages after the language model with the small networks of CosyVoice2's parity tests.
// Streams have several segments. They run in chunks that the stages choose, or as one chunk.
#include <gtest/gtest.h>

#include "families/s3/flow_stage.h"
#include "families/s3/vocoder_stage.h"
#include "model/run_streams.h"

namespace syrinx {
namespace {

constexpr int64_t kPrompt = 7, kChunk = 5, kMany = 1000;

std::string checkpoint(const std::string& file) {
  return SYRINX_BINARY_DIR "/parity/cosyvoice2/golden/checkpoint/" + file;
}

S3FlowConfig small_flow() {
  S3FlowConfig c;
  c.vocab = 40, c.width = 32, c.heads = 4, c.ffn = 48, c.layers = 2, c.chunk = kChunk;
  c.unet = {.channels = 16, .heads = 2, .head_dim = 8, .blocks = 1, .middle = 1};
  return c;
}

HiftConfig small_hift() {
  HiftConfig c;
  c.channels = 16, c.f0_channels = 8;
  return c;
}

class Request : public Sequence, public S3State {
 public:
  Request(std::shared_ptr<const S3FlowVoice> voice, uint64_t seed, bool full = false) {
    flow_voice_ = std::move(voice);
    seed_ = seed;
    full_flow_ = full;
  }
  int prompt_rows() const override { return 1; }
  int max_steps() const override { return 1; }
  const SampleParams& sampling(int) const override { return params_; }
  SampleRule rule(int) const override { return {}; }
  Verdict advance(std::span<const int32_t>, StepOutput&) override { return {}; }

 private:
  SampleParams params_;
};

struct Fixture {
  Fixture()
      : flow_weights(open_weights(checkpoint("flow.pt"))),
        hift_weights(open_weights(checkpoint("hift.pt"))),
        flow(small_flow(), flow_weights),
        hift(small_hift(), hift_weights.scope("generator")) {
    voice = voice_of(2 * kPrompt);
    for (int i = 0; i < 31; ++i) tokens.push_back(i * 11 % 40);
    for (const int begin : {13, 14, 20}) tokens[begin] |= kS3SegmentStart;
  }

  std::shared_ptr<const S3FlowVoice> voice_of(int64_t mel_frames) const {
    Tensor mel({mel_frames, 80}, DType::kF32);
    for (int64_t i = 0; i < mel.view().count(); ++i) {
      mel.f32()[i] = static_cast<float>(i % 7) * 0.1f;
    }
    std::vector<float> speaker(192, 0.f);
    speaker[3] = 1;
    return flow.voice({1, 2, 3, 4, 5, 6, 7}, std::move(mel), speaker);
  }

  /// Returns the output of a stage whose frames arrive `given` at a time; 0: all at once, as one
  /// chunk.
  template <typename T>
  std::vector<float> run(const ChunkStage& stage, const Sequence& request,
                         const std::vector<T>& frames, int given, int lookahead) {
    const ChunkPolicy policy{.lookahead = lookahead};
    StageStream stream = stream_of(stage, request, std::span<const T>(frames));
    if (given > 0) return run_arriving(ctx, stage, policy, std::move(stream), given);
    return run_stream(ctx, stage, policy, std::move(stream), kMany, Cutting::kWhole);
  }

  /// Returns the output of a stage for all frames of several streams, computed in one batch.
  template <typename T>
  std::vector<std::vector<float>> run_together(const ChunkStage& stage,
                                               std::span<const Request* const> requests,
                                               std::span<const std::vector<T>> frames) {
    std::vector<StageStream> streams;
    std::vector<StageStream*> all;
    std::vector<std::vector<float>> outs;
    for (size_t i = 0; i < requests.size(); ++i)
      streams.push_back(stream_of(stage, *requests[i], std::span<const T>(frames[i])));
    for (StageStream& each : streams) all.push_back(&each);
    run_streams(ctx, stage, {}, all, kMany, Cutting::kWhole);
    for (StageStream& each : streams) outs.push_back(std::move(each.out));
    return outs;
  }

  Weights flow_weights, hift_weights;
  S3Flow flow;
  Hift hift;
  std::shared_ptr<const S3FlowVoice> voice;
  std::vector<int32_t> tokens;
  ThreadPool pool{2};
  Arena arena;
  StepContext ctx{pool, arena};
};

TEST(S3Stages, HoweverFramesComeTheSamplesAreTheSame) {
  Fixture f;
  const Request request(f.voice, 3);
  const S3FlowStage flow(f.flow, S3Noise::kFixed);
  const S3VocoderStage vocoder(f.hift, 2);
  EXPECT_EQ(vocoder.lookahead(), 10);
  const std::vector<float> mel = f.run(flow, request, f.tokens, 0, 3);
  ASSERT_EQ(mel.size(), size_t{31 * 161});
  for (int i = 0; i < 31; ++i) {
    EXPECT_EQ(mel[i * 161 + 160], i == 13 || i == 14 || i == 20 ? 1.f : 0.f) << i;
  }
  const std::vector<float> samples = f.run(vocoder, request, mel, 0, 10);
  ASSERT_EQ(samples.size(), size_t{31 * 960});
  for (const int given : {1, 2, 7, 30}) {
    EXPECT_TRUE(f.run(flow, request, f.tokens, given, 3) == mel) << given;
    EXPECT_TRUE(f.run(vocoder, request, mel, given, 10) == samples) << given;
  }
}

/// Runs four streams in one batch: two have the same voice, one another voice, one the full flow.
TEST(S3Stages, InABatchAStreamIsAsAlone) {
  Fixture f;
  const Request one(f.voice, 1), two(f.voice, 2), full(f.voice, 3, true);
  const Request other(f.voice_of(2 * kPrompt + 1), 4);
  const Request* const requests[] = {&one, &two, &full, &other};
  std::vector<std::vector<int32_t>> tokens(4, f.tokens);
  tokens[1].resize(17), std::reverse(tokens[3].begin(), tokens[3].begin() + 12);
  const S3FlowStage flow(f.flow, S3Noise::kSeeded);
  const S3VocoderStage vocoder(f.hift, 2);
  const auto mels = f.run_together<int32_t>(flow, requests, tokens);
  const auto sounds = f.run_together<float>(vocoder, requests, mels);
  for (size_t i = 0; i < 4; ++i) {
    const S3FlowStage fresh(f.flow, S3Noise::kSeeded);  // a stage that has cached no voice yet
    EXPECT_TRUE(f.run(fresh, *requests[i], tokens[i], 0, 3) == mels[i]) << i;
    EXPECT_TRUE(f.run(vocoder, *requests[i], mels[i], 0, 10) == sounds[i]) << i;
  }
  EXPECT_FALSE(mels[0] == mels[2]);
}

TEST(S3Stages, TheFullFlowWaitsForTheEndOfASegment) {
  Fixture f;
  const Request request(f.voice, 3, true), causal(f.voice, 3);
  const S3FlowStage flow(f.flow, S3Noise::kSeeded);
  const auto stream = open_stream(flow, request);
  const auto cut = [&](size_t frames, bool closed) {
    return flow.cut(*stream, {std::span(f.tokens).first(frames), {}, closed}, 99);
  };
  EXPECT_EQ(cut(0, false), 0);
  EXPECT_EQ(cut(13, false), 0);
  EXPECT_EQ(cut(12, true), 12);
  EXPECT_EQ(cut(14, false), 13);  // the next segment has begun
  EXPECT_EQ(cut(31, true), 13);
  const std::vector<float> mel = f.run(flow, request, f.tokens, 0, 3);
  ASSERT_EQ(mel.size(), size_t{31 * 161});
  EXPECT_FALSE(f.run(flow, causal, f.tokens, 0, 3) == mel);
  for (const int given : {1, 7, 30}) {
    EXPECT_TRUE(f.run(flow, request, f.tokens, given, 3) == mel) << given;
  }
}

TEST(S3Stages, HalfATokenOfThePromptIsNotHeard) {
  Fixture f;
  const S3FlowStage flow(f.flow, S3Noise::kFixed);
  const S3VocoderStage vocoder(f.hift, 2);
  for (const bool full : {false, true}) {
    const Request request(f.voice_of(2 * kPrompt + 1), 3, full);
    const std::vector<float> mel = f.run(flow, request, f.tokens, 0, 3);
    ASSERT_EQ(mel.size(), size_t{31 * 161});
    for (int i = 0; i < 31; ++i) {
      const S3Mark mark = S3Mark::of(mel[i * 161 + 160]);
      EXPECT_EQ(mark.starts, i == 13 || i == 14 || i == 20) << i;
      EXPECT_EQ(mark.unheard, mark.starts || i == 0 ? 1 : 0) << i;
    }
    const std::vector<float> samples = f.run(vocoder, request, mel, 0, 10);
    ASSERT_EQ(samples.size(), size_t{(31 * 2 - 4) * 480});  // the vocoder skips one frame a segment
    for (const int given : {1, 2, 7, 30}) {
      EXPECT_TRUE(f.run(flow, request, f.tokens, given, 3) == mel) << given;
      EXPECT_TRUE(f.run(vocoder, request, mel, given, 10) == samples) << given;
    }
    // The vocoder skips the first frame of the first segment, so its values change nothing.
    std::vector<float> other = mel;
    for (int i = 0; i < 80; ++i) other[i] += 3;
    EXPECT_TRUE(f.run(vocoder, request, other, 0, 10) == samples);
  }
}

TEST(S3Stages, TheFirstBlockIsWhatThePromptLeaves) {
  Fixture f;
  const Request request(f.voice, 3);
  const S3FlowStage flow(f.flow, S3Noise::kFixed);
  const auto stream = open_stream(flow, request);
  const std::vector<int32_t> tokens(12, 1);
  const auto cut = [&](size_t frames, bool closed) {
    return flow.cut(*stream, {std::span(tokens).first(frames), {}, closed}, 99);
  };
  EXPECT_EQ(cut(0, false), 0);
  EXPECT_EQ(cut(5, false), 0);  // prompt 7 + 3 fill a block; it needs 3 more as lookahead
  EXPECT_EQ(cut(6, false), 3);
  EXPECT_EQ(cut(12, false), 3);
  EXPECT_EQ(cut(5, true), 5);
}

TEST(S3Stages, SeedsChooseTheNoise) {
  Fixture f;
  const Request one(f.voice, 1), two(f.voice, 2);
  const S3FlowStage fixed(f.flow, S3Noise::kFixed), seeded(f.flow, S3Noise::kSeeded);
  const std::vector<float> mel = f.run(fixed, one, f.tokens, 0, 3);
  EXPECT_TRUE(f.run(fixed, two, f.tokens, 0, 3) == mel);
  const std::vector<float> other = f.run(seeded, one, f.tokens, 0, 3);
  EXPECT_FALSE(other == mel);
  EXPECT_TRUE(f.run(seeded, one, f.tokens, 2, 3) == other);
  EXPECT_FALSE(f.run(seeded, two, f.tokens, 0, 3) == other);
  const S3VocoderStage vocoder(f.hift, 2);
  const std::vector<float> samples = f.run(vocoder, one, mel, 0, 10);
  EXPECT_FALSE(f.run(vocoder, two, mel, 0, 10) == samples);
}

TEST(S3Stages, SegmentsFadeIn) {
  Fixture f;
  const Request request(f.voice, 1);
  const S3VocoderStage plain(f.hift, 2), faded(f.hift, 2, {0.f, 0.25f, 0.5f});
  std::vector<float> mel(31 * 161, -1.f);
  for (int i = 0; i < 31; ++i) mel[i * 161 + 160] = i == 20;
  const std::vector<float> want = f.run(plain, request, mel, 0, 10);
  const std::vector<float> got = f.run(faded, request, mel, 4, 10);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t at = i < 20 * 960 ? i : i - 20 * 960;
    EXPECT_EQ(got[i], at < 3 ? want[i] * 0.25f * static_cast<float>(at) : want[i]) << i;
  }
}

}  // namespace
}  // namespace syrinx
