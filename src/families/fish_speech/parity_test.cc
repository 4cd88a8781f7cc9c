// The two networks against what the authors' code computes on a small checkpoint: prompt ids, rows,
// logits of every step, greedy frames of every message, samples, and the sampler's probabilities.
#include "base/worst.h"
#include "families/fish_speech/fixture.h"
#include "families/golden_checks.h"

namespace syrinx::fish_speech {
namespace {

constexpr float kFishLogits = 1e-4f;  // relative to the largest logit of the row

class FishSpeechParity : public testing::Test {
 protected:
  FishSpeechParity() : cases_(load_cases()), model_({golden_path("checkpoint"), "x"}) {}

  void end_message(Track& track) const {
    std::vector<int32_t> codes(static_cast<size_t>(model_.config().codebooks), 0), frames;
    codes[0] = model_.config().end_code();
    std::vector<WordMark> words;
    StepOutput out(frames, words);
    track.state->advance(codes, out);
    track.steps = 0;
  }

  std::vector<Case> cases_;
  FishSpeech model_;
};

TEST_F(FishSpeechParity, RowsAreTheAuthors) {
  Runner runner(model_);
  for (const Case& c : cases_) {
    Track track = runner.open(c.request);
    const View want = c.golden->view("prefill");  // the last rows of a long prompt
    const int rows = track.state->prompt_rows(), kept = static_cast<int>(want.shape[0]);
    ASSERT_GE(rows, kept) << c.name;
    const ArSeq seq{track.state.get(), rows - kept, kept, true};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const View got = model_.lm().embed_rows(runner.context(), batch);
    EXPECT_LT(relative(floats(got), floats(want)), 1e-6f) << c.name;
  }
}

TEST_F(FishSpeechParity, PromptsLogitsAndGreedyFrames) {
  float worst = 0, worst_inner = 0;
  int most_steps = 0, messages = 0, ended = 0;
  for (const Case& c : cases_) {
    Runner runner(model_);
    Track track = runner.open(c.request);
    for (size_t i = 0; i < c.segments.size(); ++i, ++messages) {
      const Case::Segment& segment = c.segments[i];
      const std::span<const int32_t> ids = track.state->prompt_ids();
      ASSERT_EQ(std::vector(ids.begin(), ids.end()), ints(c.view("prompt_ids", i)))
          << c.name << " " << i;
      const View frames = c.view("frames", i), logits = c.view("logits", i),
                 inner = c.view("inner_logits", i);
      track.frames.clear(), track.logits.clear(), track.inner.clear();
      // Where the authors reached their bound, they leave the last frame out and go on.
      const int spoken = segment.steps - 1;
      for (int step = 0; step < spoken + segment.ended; ++step) runner.step(track);
      if (!segment.ended) end_message(track);
      std::vector<int32_t> want = ints(frames);
      want.resize(static_cast<size_t>(spoken * model_.config().codebooks));
      ASSERT_EQ(track.frames, want) << c.name << " " << i;
      const int64_t kept = std::min(logits.shape[0], std::ssize(track.logits));
      EXPECT_GE(kept, std::min<int64_t>(logits.shape[0], spoken));
      for (int64_t s = 0; s < kept; ++s)
        worst = worse(worst, relative(track.logits[s], floats(logits.slice(s, s + 1))));
      for (int64_t s = 0; s < inner.shape[0]; ++s)
        worst_inner = worse(worst_inner, relative(track.inner[s], floats(inner.slice(s, s + 1))));
      most_steps = std::max(most_steps, segment.steps);
      ended += segment.ended;
      runner.drop(track);
    }
  }
  EXPECT_LT(worst, kFishLogits);
  EXPECT_LT(worst_inner, kFishLogits);
  EXPECT_GE(most_steps, 200);
  EXPECT_GE(messages, 6);
  EXPECT_GE(ended, 1);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_inner_logits", std::to_string(worst_inner * 1e6) + "e-6");
}

TEST_F(FishSpeechParity, SamplesOfARequest) {
  const Case& c = cases_[0];
  const std::vector<int32_t> frames = ints(c.view("frames", 0));
  const std::span<const float> want = floats(c.golden->view("samples"));
  Runner runner(model_);
  const ChunkStage& stage = *model_.graph().links()[0].stage;
  const int count = static_cast<int>(want.size()) / stage.out_width();
  const std::vector<float> got =
      samples_of(stage, *runner.open(c.request).state, frames, count, false, runner.context());
  EXPECT_LT(relative(got, want), 1e-4f);
}

TEST_F(FishSpeechParity, DrawsFollowTheAuthorsProbabilities) {
  const Safetensors golden(golden_path("sampling.safetensors"));
  Runner runner(model_);
  expect_chances(golden.view("logits"), golden.view("settings"), golden.view("probabilities"),
                 cases_[0].request, runner);
}

TEST_F(FishSpeechParity, WeightsOfEveryKindStayClose) {
  const Case& c = cases_[0];
  const auto error = [&](WeightType type) {
    const FishSpeech model({golden_path("checkpoint"), "x", type});
    Runner runner(model);
    Track track = runner.open(c.request);
    runner.step(track);
    return rms_off(track.logits[0], floats(c.view("logits", 0).slice(0, 1)));
  };
  EXPECT_LT(error(WeightType::kBF16), 0.01);
  EXPECT_LT(error(WeightType::kQ8), 0.03);
}

}  // namespace
}  // namespace syrinx::fish_speech
