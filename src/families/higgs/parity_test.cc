// The language model against what the serving code of the authors computes on a small checkpoint:
// prompt ids, rows, logits, greedy steps and frames, samples, and the sampler's chances.
#include "base/worst.h"
#include "families/golden_checks.h"
#include "families/higgs/fixture.h"
#include "io/golden_samples.h"

namespace syrinx::higgs {
namespace {

constexpr float kHiggsLogits = 1e-4f;  // relative to the largest logit of the row

class HiggsParity : public testing::Test {
 protected:
  HiggsParity() : cases_(load_cases()), model_({golden_path("checkpoint"), "x"}) {}

  std::vector<Case> cases_;
  Higgs model_;
};

TEST_F(HiggsParity, PromptsAndRowsAreTheAuthors) {
  Runner runner(model_);
  for (const Case& c : cases_) {
    Track track = runner.open(c.request);
    const std::span<const int32_t> ids = track.state->prompt_ids();
    ASSERT_EQ(std::vector(ids.begin(), ids.end()), ints(c.golden->view("prompt_ids"))) << c.name;
    const View want = c.golden->view("prefill");  // the last rows of a long prompt
    const int rows = track.state->prompt_rows(), kept = static_cast<int>(want.shape[0]);
    ASSERT_GE(rows, kept) << c.name;
    const ArSeq seq{track.state.get(), rows - kept, kept, true};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const View got = model_.lm().embed_rows(runner.context(), batch);
    EXPECT_LT(relative(floats(got), floats(want)), 1e-6f) << c.name;
  }
}

TEST_F(HiggsParity, LogitsAndGreedyFrames) {
  float worst = 0;
  int most_frames = 0, ended = 0;
  for (const Case& c : cases_) {
    Runner runner(model_);
    Track track = runner.open(c.request);
    for (int step = 0; step < c.steps; ++step) {
      ASSERT_FALSE(track.finished) << c.name << " " << step;
      runner.step(track);
    }
    EXPECT_EQ(track.finished, c.ended) << c.name;
    ASSERT_EQ(track.frames, ints(c.golden->view("frames"))) << c.name;
    const View logits = c.golden->view("logits");  // [steps, C, V]
    for (int64_t s = 0; s < logits.shape[0]; ++s) {
      std::vector<float> got = track.logits[s];
      got.insert(got.end(), track.inner[s].begin(), track.inner[s].end());
      // Of codebooks that have not begun nothing is computed.
      const auto least = static_cast<size_t>(std::min<int64_t>(s + 1, 8) * logits.shape[2]);
      worst = worse(worst, relative(Computed(got, floats(logits.slice(s, s + 1)), least)));
    }
    most_frames = std::max(most_frames, static_cast<int>(track.frames.size() / 8));
    ended += c.ended;
  }
  EXPECT_LT(worst, kHiggsLogits);
  EXPECT_GE(most_frames, 200);
  EXPECT_GE(ended, 1);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
}

TEST_F(HiggsParity, SamplesOfARequest) {
  const Case& c = cases_[0];
  Runner runner(model_);
  expect_golden_samples(*model_.graph().links()[0].stage, *runner.open(c.request).state, *c.golden,
                        c.kept_samples, runner.context());
}

TEST_F(HiggsParity, DrawsFollowTheAuthorsChances) {
  const Safetensors golden(golden_path("sampling.safetensors"));
  Runner runner(model_);
  expect_chances(golden.view("logits"), golden.view("settings"), golden.view("chances"),
                 cases_[0].request, runner);
}

TEST_F(HiggsParity, WeightsOfEveryKindStayClose) {
  const Case& c = cases_[0];
  const auto error = [&](WeightType type) {
    const Higgs model({golden_path("checkpoint"), "x", type});
    Runner runner(model);
    Track track = runner.open(c.request);
    runner.step(track);
    return rms_off(track.logits[0], floats(c.golden->view("logits")).first(track.logits[0].size()));
  };
  EXPECT_LT(error(WeightType::kBF16), 0.015);
  EXPECT_LT(error(WeightType::kQ8), 0.05);
}

}  // namespace
}  // namespace syrinx::higgs
