// Compares the models of golden_models.h with their authors' code on small checkpoints: prompt ids,
// rows, logits, greedy frames, samples, and the probabilities of sampled ids.
#include "families/golden_checks.h"
#include "families/golden_models.h"
#include "families/spoken/codec_lm.h"

namespace syrinx {
namespace {

class GoldenParity : public testing::TestWithParam<GoldenModel> {
 protected:
  GoldenParity() : cases_(golden_cases(GetParam())), model_(load_golden(GetParam())) {}

  const CodecLm& lm() const { return dynamic_cast<const CodecLm&>(model_->graph().ar()); }
  /// Returns the largest relative error of a step's logits: those of code 0, or of all codes side
  /// by side. Skips streams of a delay pattern that have not begun or have ended.
  float off(const GoldenCase& c, const Track& track, size_t step, const GoldenLogits& golden,
            int64_t row) const {
    const std::vector<int>& vocab = lm().traits().vocab;
    std::vector<float> got = track.logits[step];
    size_t begun = 1;
    if (golden.view.shape.dims() > 2 || golden.view.shape[1] > std::ssize(got)) {
      got.insert(got.end(), track.inner[step].begin(), track.inner[step].end());
      begun = std::min(step + 1, vocab.size());
    }
    size_t least = 0;
    for (size_t k = 0; k < begun; ++k)
      least += golden.columns.empty() ? static_cast<size_t>(vocab[k]) : golden.columns.size();
    if (GetParam().least > 0) least = GetParam().least;
    const bool ending = c.ended && step * vocab.size() >= c.frames.size();
    if (!golden.columns.empty()) {
      std::vector<float> some;
      for (int64_t begin = 0; begin < std::ssize(got); begin += vocab[0])
        for (const int64_t id : golden.columns)
          some.push_back(got[static_cast<size_t>(begin + id)]);
      got = std::move(some);
    }
    return relative(Computed(got, floats(golden.view.slice(row, row + 1)), ending ? 0 : least));
  }

  static std::vector<int32_t> prompt_of(const Track& track) {
    const std::span<const int32_t> ids = track.state->prompt_ids();
    return {ids.begin(), ids.end()};
  }
  /// Ends the segment at the step at which the authors' code cut it.
  void end_segment(Track& track) const {
    std::vector<int32_t> frames;
    std::vector<WordMark> words;
    StepOutput out(frames, words);
    const Verdict verdict = track.state->advance(GetParam().end(*model_), out);
    EXPECT_EQ(verdict.next, Verdict::kNextSegment);
    track.begin_segment(verdict);
  }

  const std::vector<GoldenCase> cases_;
  const std::shared_ptr<const Pipeline> model_;
};

TEST_P(GoldenParity, RowsOfPrompts) {
  Runner runner(*model_);
  const auto off = [&](const Track& track, int first, const View& want, bool companion) {
    const ArSeq seq{track.state.get(), first, static_cast<int>(want.shape[0]), true, companion};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    return relative(floats(lm().embed_rows(runner.context(), batch)), floats(want));
  };
  for (const GoldenCase& c : cases_) {
    const Track track = runner.open(c.request);
    const int rows = track.state->prompt_rows();
    if (c.golden->find("prefill")) {
      const View want = c.golden->view("prefill");
      ASSERT_GE(rows, want.shape[0]) << c.name;
      EXPECT_LT(off(track, rows - static_cast<int>(want.shape[0]), want, false), 1e-6f) << c.name;
    }
    if (!c.golden->find("prefix")) continue;  // [2, R, H]: rows of the sequence, of the companion
    const View want = c.golden->view("prefix");
    ASSERT_EQ(rows, want.shape[1] + 1) << c.name;
    for (const bool companion : {false, true}) {
      const View half = want.slice(companion, companion + 1);
      const View flat{half.data, DType::kF32, {want.shape[1], want.shape[2]}};
      EXPECT_LT(off(track, 0, flat, companion), 1e-5f) << c.name << " " << companion;
    }
  }
}

TEST_P(GoldenParity, PromptsLogitsAndGreedyFrames) {
  float worst = 0, worst_inner = 0;
  int longest = 0;
  for (const GoldenCase& c : cases_) {
    Runner runner(*model_);
    Track track = runner.open(c.request);
    std::vector<int32_t> prompts;
    for (size_t i = 0; i < c.segments.size(); ++i) {
      const GoldenCase::Segment& now = c.segments[i];
      const std::vector<int32_t> ids = prompt_of(track);
      prompts.insert(prompts.end(), ids.begin(), ids.end());
      track.logits.clear(), track.inner.clear();
      while (now.steps > 0 ? std::ssize(track.logits) < now.steps : !track.finished) {
        ASSERT_FALSE(track.finished) << c.name << " " << track.logits.size();
        runner.step(track);
      }
      const bool last = i + 1 == c.segments.size();
      // Takes the step that ends the segment, if the golden does not count it.
      if (now.ended && (last ? !track.finished : track.steps == now.steps)) runner.step(track);
      if (!now.ended && !last) end_segment(track);
      for (const GoldenLogits& logits : now.logits) {
        const int64_t all = logits.view.shape[0];
        const int64_t kept = std::min(all, std::ssize(track.logits));
        EXPECT_GE(kept, std::min<int64_t>(all, now.steps)) << c.name << " " << i;
        for (int64_t row = 0; row < kept; ++row) {
          const size_t step = logits.steps.empty() ? static_cast<size_t>(row) : logits.steps[row];
          ASSERT_LT(step, track.logits.size()) << c.name << " " << i;
          worst = worse(worst, off(c, track, step, logits, row));
        }
      }
      if (now.inner.data != nullptr) {
        for (int64_t s = 0; s < now.inner.shape[0]; ++s)
          worst_inner =
              worse(worst_inner, relative(track.inner[s], floats(now.inner.slice(s, s + 1))));
      }
      longest = std::max(longest, static_cast<int>(std::ssize(track.logits)));
    }
    if (!c.prompt_ids.empty()) {
      EXPECT_EQ(prompts, c.prompt_ids) << c.name;
    }
    EXPECT_EQ(track.ended, c.ended) << c.name;
    ASSERT_EQ(track.frames, c.frames) << c.name;
  }
  EXPECT_LT(worst, GetParam().logits);
  EXPECT_LT(worst_inner, GetParam().logits);
  EXPECT_GE(longest, GetParam().longest);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_inner_logits", std::to_string(worst_inner * 1e6) + "e-6");
}

TEST_P(GoldenParity, DrawsFollowTheAuthorsChances) {
  const std::string path = golden_path(GetParam(), "sampling.safetensors");
  if (!is_file(path)) return;  // this model has no file in tests/parity/sampling
  const Safetensors golden(path);
  Runner runner(*model_);
  expect_chances(golden.view("logits"), golden.view("settings"), golden.view("chances"),
                 cases_[0].request, runner);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenParity, testing::ValuesIn(kGoldenModels), golden_name);
INSTANTIATE_TEST_SUITE_P(Cloned, GoldenParity, testing::ValuesIn(kClonedGoldenModels), golden_name);

}  // namespace
}  // namespace syrinx
