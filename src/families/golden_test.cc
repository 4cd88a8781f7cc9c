// Compares the models of golden_models.h with their authors' code on small checkpoints: prompt ids,
// rows, logits, greedy frames, samples, and the probabilities of sampled ids.
#include "families/golden_checks.h"
#include "families/golden_models.h"
#include "families/spoken/codec_lm.h"

namespace syrinx {
namespace {

constexpr int kMostSteps = 200;  // at least the steps of a model's longest case

class GoldenParity : public testing::TestWithParam<GoldenModel> {
 protected:
  GoldenParity() : cases_(golden_cases(GetParam())), model_(load_golden(GetParam())) {}

  const CodecLm& lm() const { return dynamic_cast<const CodecLm&>(model_->graph().ar()); }
  /// Returns the largest relative error of a step's logits. `want` [1, V]: logits of code 0; or [1,
  /// K, V]: of all codes. Streams of a delay pattern that have not begun are not compared.
  static float off(const Track& track, size_t step, const View& want) {
    std::vector<float> got = track.logits[step];
    size_t least = got.size();
    if (want.count() > std::ssize(got)) {
      got.insert(got.end(), track.inner[step].begin(), track.inner[step].end());
      const auto streams = static_cast<size_t>(want.shape[1]);
      least = std::min(step + 1, streams) * static_cast<size_t>(want.shape[2]);
    }
    return relative(Computed(got, floats(want), least));
  }

  static std::vector<int32_t> prompt_of(const Track& track) {
    const std::span<const int32_t> ids = track.state->prompt_ids();
    return {ids.begin(), ids.end()};
  }
  /// Ends the segment at the step of the authors' bound.
  void end_segment(Track& track) const {
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    StepOutput out(frames, words);
    const Verdict verdict = track.state->advance(GetParam().end(*model_), out);
    EXPECT_EQ(verdict.next, Verdict::kNextSegment);
    track.steps = 0;
    track.cached = std::min(track.cached, verdict.kept);
  }

  const std::vector<GoldenCase> cases_;
  const std::shared_ptr<const Pipeline> model_;
};

TEST_P(GoldenParity, PromptsAndRows) {
  Runner runner(*model_);
  for (const GoldenCase& c : cases_) {
    Track track = runner.open(c.request);
    EXPECT_EQ(prompt_of(track), ints(c.view("prompt_ids", 0))) << c.name;
    if (!c.golden->find("prefill")) continue;
    const View want = c.golden->view("prefill");
    const int rows = track.state->prompt_rows(), kept = static_cast<int>(want.shape[0]);
    ASSERT_GE(rows, kept) << c.name;
    const ArSeq seq{track.state.get(), rows - kept, kept, true};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const View got = lm().embed_rows(runner.context(), batch);
    EXPECT_LT(relative(floats(got), floats(want)), 1e-6f) << c.name;
  }
}

TEST_P(GoldenParity, LogitsAndGreedyFrames) {
  float worst = 0, worst_inner = 0;
  int most_steps = 0;
  for (const GoldenCase& c : cases_) {
    Runner runner(*model_);
    Track track = runner.open(c.request);
    for (size_t i = 0; i < c.segments.size(); ++i) {
      const auto& [steps, ended] = c.segments[i];
      ASSERT_EQ(prompt_of(track), ints(c.view("prompt_ids", i))) << c.name << " " << i;
      track.logits.clear(), track.inner.clear();
      for (int step = 0; step < steps; ++step) {
        ASSERT_FALSE(track.finished) << c.name << " " << step;
        runner.step(track);
      }
      const bool last = i + 1 == c.segments.size();
      // Takes the end step, which the golden does not count.
      if (ended && (last ? !track.finished : track.steps == steps)) runner.step(track);
      if (!ended && !last) end_segment(track);
      const View logits = c.view("logits", i);
      const int64_t kept = std::min(logits.shape[0], std::ssize(track.logits));
      EXPECT_GE(kept, std::min<int64_t>(logits.shape[0], steps)) << c.name << " " << i;
      for (int64_t s = 0; s < kept; ++s)
        worst = worse(worst, off(track, static_cast<size_t>(s), logits.slice(s, s + 1)));
      if (c.golden->find(c.name_of("inner_logits", i))) {
        const View inner = c.view("inner_logits", i);
        for (int64_t s = 0; s < inner.shape[0]; ++s)
          worst_inner = worse(worst_inner, relative(track.inner[s], floats(inner.slice(s, s + 1))));
      }
      most_steps = std::max(most_steps, steps + 1);
    }
    EXPECT_EQ(track.ended, c.ended) << c.name;
    ASSERT_EQ(track.frames, c.frames) << c.name;
  }
  EXPECT_LT(worst, GetParam().logits);
  EXPECT_LT(worst_inner, GetParam().logits);
  EXPECT_GE(most_steps, kMostSteps);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_inner_logits", std::to_string(worst_inner * 1e6) + "e-6");
}

TEST_P(GoldenParity, Samples) {
  const ChunkStage& stage = *model_->graph().links()[0].stage;
  float worst = 0;
  int compared = 0;
  for (const GoldenCase& c : cases_) {
    if (!c.golden->find("samples")) continue;
    const GoldenSamples want(*c.golden);
    Runner runner(*model_);
    const int count = static_cast<int>(want.count()) / stage.out_width();
    worst = worse(worst, want.distance(samples_of(stage, *runner.open(c.request).state, c.frames,
                                                  count, true, runner.context())));
    ++compared;
  }
  EXPECT_GE(compared, 1);
  EXPECT_LT(worst, GetParam().samples);
  RecordProperty("worst_samples", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(GoldenParity, DrawsFollowTheAuthorsChances) {
  const std::string path = golden_path(GetParam(), "sampling.safetensors");
  if (!is_file(path)) return;  // the file of tests/parity/sampling for this model
  const Safetensors golden(path);
  Runner runner(*model_);
  expect_chances(golden.view("logits"), golden.view("settings"), golden.view("chances"),
                 cases_[0].request, runner);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenParity, testing::ValuesIn(kGoldenModels), golden_name);

}  // namespace
}  // namespace syrinx
