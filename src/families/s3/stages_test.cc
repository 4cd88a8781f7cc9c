// Tests the stages after the language model with the small networks of CosyVoice2's parity tests.
// Streams have several segments. They run in chunks that the stages choose, or as one chunk.
#include <gtest/gtest.h>

#include "families/s3/flow_stage.h"
#include "families/s3/vocoder_stage.h"

namespace syrinx {
namespace {

constexpr int64_t kPrompt = 7, kChunk = 5;

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

  /// Returns the output of a stage. `given`: how many more frames arrive before each call of cut().
  template <typename T>
  std::vector<float> run(const ChunkStage& stage, const Sequence& request,
                         const std::vector<T>& frames, int given, int lookahead) {
    const auto stream = open_stream(stage, request);
    const int width = stage.in_width(), all = static_cast<int>(frames.size()) / width;
    std::vector<float> out;
    int come = 0, taken = 0;
    while (taken < all) {
      come = std::min(all, come + given);
      const std::span<const T> waiting =
          std::span(frames).subspan(taken * width, (come - taken) * width);
      WaitingFrames view;
      view.closed = come == all;
      ChunkJob job;
      if constexpr (std::is_same_v<T, float>) {
        view.values = waiting;
      } else {
        view.codes = waiting;
      }
      job.fresh = given >= all ? all : stage.cut(*stream, view, 0);
      if (job.fresh == 0) {
        if (view.closed) {
          ADD_FAILURE() << "frames " << taken << " to " << all << " are left over";
          break;
        }
        continue;
      }
      job.state = stream.get();
      job.ahead = std::min(lookahead, come - taken - job.fresh);
      job.last = view.closed && taken + job.fresh + job.ahead == all;
      const size_t window = static_cast<size_t>((job.fresh + job.ahead) * width);
      job.codes = view.codes.empty() ? view.codes : view.codes.first(window);
      job.values = view.values.empty() ? view.values : view.values.first(window);
      job.made = job.fresh * stage.most_out();
      std::vector<float> part(static_cast<size_t>(job.made) * stage.out_width());
      job.out = part;
      stage.run(ctx, {&job, 1});
      part.resize(static_cast<size_t>(job.made) * stage.out_width());
      out.insert(out.end(), part.begin(), part.end());
      taken += job.fresh;
      most_fresh = std::max(most_fresh, job.fresh);
    }
    return out;
  }

  /// Returns the output of a stage for all frames of several streams, computed in one batch.
  template <typename T>
  std::vector<std::vector<float>> run_together(const ChunkStage& stage,
                                               std::span<const Request* const> requests,
                                               std::span<const std::vector<T>> frames) {
    std::vector<std::unique_ptr<StreamState>> streams;
    std::vector<std::vector<float>> outs(requests.size());
    std::vector<ChunkJob> jobs(requests.size());
    for (size_t i = 0; i < requests.size(); ++i) {
      streams.push_back(open_stream(stage, *requests[i]));
      ChunkJob& job = jobs[i];
      job.state = streams[i].get();
      if constexpr (std::is_same_v<T, float>) {
        job.values = frames[i];
      } else {
        job.codes = frames[i];
      }
      job.fresh = static_cast<int>(std::ssize(frames[i]) / stage.in_width());
      job.last = true;
      job.made = job.fresh * stage.most_out();
      outs[i].resize(static_cast<size_t>(job.made) * stage.out_width());
      job.out = outs[i];
    }
    stage.run(ctx, jobs);
    for (size_t i = 0; i < outs.size(); ++i)
      outs[i].resize(static_cast<size_t>(jobs[i].made) * stage.out_width());
    return outs;
  }

  Weights flow_weights, hift_weights;
  S3Flow flow;
  Hift hift;
  std::shared_ptr<const S3FlowVoice> voice;
  std::vector<int32_t> tokens;
  int most_fresh = 0;
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
  const std::vector<float> mel = f.run(flow, request, f.tokens, 1000, 3);
  ASSERT_EQ(mel.size(), size_t{31 * 161});
  for (int i = 0; i < 31; ++i) {
    EXPECT_EQ(mel[i * 161 + 160], i == 13 || i == 14 || i == 20 ? 1.f : 0.f) << i;
  }
  const std::vector<float> samples = f.run(vocoder, request, mel, 1000, 10);
  ASSERT_EQ(samples.size(), size_t{31 * 960});
  for (const int given : {1, 2, 7, 30}) {
    f.most_fresh = 0;
    EXPECT_TRUE(f.run(flow, request, f.tokens, given, 3) == mel) << given;
    EXPECT_LE(f.most_fresh, kChunk + 3);  // the last chunk of a segment may exceed a block
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
    EXPECT_TRUE(f.run(fresh, *requests[i], tokens[i], 1000, 3) == mels[i]) << i;
    EXPECT_TRUE(f.run(vocoder, *requests[i], mels[i], 1000, 10) == sounds[i]) << i;
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
  const std::vector<float> mel = f.run(flow, request, f.tokens, 1000, 3);
  ASSERT_EQ(mel.size(), size_t{31 * 161});
  EXPECT_FALSE(f.run(flow, causal, f.tokens, 1000, 3) == mel);
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
    const std::vector<float> mel = f.run(flow, request, f.tokens, 1000, 3);
    ASSERT_EQ(mel.size(), size_t{31 * 161});
    for (int i = 0; i < 31; ++i) {
      const S3Mark mark = S3Mark::of(mel[i * 161 + 160]);
      EXPECT_EQ(mark.starts, i == 13 || i == 14 || i == 20) << i;
      EXPECT_EQ(mark.unheard, mark.starts || i == 0 ? 1 : 0) << i;
    }
    const std::vector<float> samples = f.run(vocoder, request, mel, 1000, 10);
    ASSERT_EQ(samples.size(), size_t{(31 * 2 - 4) * 480});  // the vocoder skips one frame a segment
    for (const int given : {1, 2, 7, 30}) {
      EXPECT_TRUE(f.run(flow, request, f.tokens, given, 3) == mel) << given;
      EXPECT_TRUE(f.run(vocoder, request, mel, given, 10) == samples) << given;
    }
    // The vocoder skips the first frame of the first segment, so its values change nothing.
    std::vector<float> other = mel;
    for (int i = 0; i < 80; ++i) other[i] += 3;
    EXPECT_TRUE(f.run(vocoder, request, other, 1000, 10) == samples);
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
  const std::vector<float> mel = f.run(fixed, one, f.tokens, 1000, 3);
  EXPECT_TRUE(f.run(fixed, two, f.tokens, 1000, 3) == mel);
  const std::vector<float> other = f.run(seeded, one, f.tokens, 1000, 3);
  EXPECT_FALSE(other == mel);
  EXPECT_TRUE(f.run(seeded, one, f.tokens, 2, 3) == other);
  EXPECT_FALSE(f.run(seeded, two, f.tokens, 1000, 3) == other);
  const S3VocoderStage vocoder(f.hift, 2);
  const std::vector<float> samples = f.run(vocoder, one, mel, 1000, 10);
  EXPECT_FALSE(f.run(vocoder, two, mel, 1000, 10) == samples);
}

TEST(S3Stages, SegmentsFadeIn) {
  Fixture f;
  const Request request(f.voice, 1);
  const S3VocoderStage plain(f.hift, 2), faded(f.hift, 2, {0.f, 0.25f, 0.5f});
  std::vector<float> mel(31 * 161, -1.f);
  for (int i = 0; i < 31; ++i) mel[i * 161 + 160] = i == 20;
  const std::vector<float> want = f.run(plain, request, mel, 1000, 10);
  const std::vector<float> got = f.run(faded, request, mel, 4, 10);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i) {
    const size_t at = i < 20 * 960 ? i : i - 20 * 960;
    EXPECT_EQ(got[i], at < 3 ? want[i] * 0.25f * static_cast<float>(at) : want[i]) << i;
  }
}

}  // namespace
}  // namespace syrinx
