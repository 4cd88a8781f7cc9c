// The backbone and its depth decoder against what transformers computes on small checkpoints:
// prompt ids, prefill rows, logits of every step, greedy frames, and the audio of a request.
#include "base/worst.h"
#include "families/csm/fixture.h"
#include "io/golden_samples.h"

namespace syrinx::csm {
namespace {

constexpr float kLogits = 1e-4f;  // relative to the largest logit of the row

class CsmParity : public testing::TestWithParam<const char*> {
 protected:
  CsmParity()
      : dir_(golden_dir(GetParam())),
        cases_(load_cases(dir_)),
        model_({dir_ + "/checkpoint", "x"}) {}

  std::string dir_;
  std::vector<Case> cases_;
  Csm model_;
};

TEST_P(CsmParity, PromptIdsAndRowsAreTheAuthors) {
  Runner runner(model_);
  for (const Case& c : cases_) {
    Track track = runner.open(c.request);
    const std::span<const int32_t> ids = track.state->prompt_ids();
    EXPECT_EQ(std::vector(ids.begin(), ids.end()), ints(c.golden->view("prompt_ids"))) << c.name;

    const View want = c.golden->view("prefill");
    ASSERT_EQ(track.state->prompt_rows(), want.shape[0]) << c.name;
    const ArSeq seq{track.state.get(), 0, track.state->prompt_rows(), true};
    const ArBatch batch{std::span(&seq, 1), seq.rows, 1, {}, {}, {}};
    const View rows = model_.backbone().embed_rows(runner.context(), batch);
    EXPECT_LT(relative(floats(rows), floats(want)), 1e-6f) << c.name;
  }
}

TEST_P(CsmParity, LogitsAndGreedyFrames) {
  const int codebooks = static_cast<int>(model_.config().codebooks);
  float worst = 0, worst_inner = 0;
  int most_steps = 0;
  for (const Case& c : cases_) {
    Runner runner(model_);
    Track track = runner.open(c.request);
    for (int step = 0; step < c.steps && !track.finished; ++step) runner.step(track);
    EXPECT_EQ(track.finished, c.ended) << c.name;
    std::vector<int32_t> want = ints(c.golden->view("frames"));
    if (c.ended) want.resize(want.size() - codebooks);  // the end frame is not spoken
    EXPECT_EQ(track.frames, want) << c.name;

    const View logits = c.golden->view("logits"), inner = c.golden->view("inner_logits");
    ASSERT_EQ(static_cast<int64_t>(track.logits.size()), c.steps);
    ASSERT_EQ(logits.shape[0], c.steps);
    for (int64_t step = 0; step < c.steps; ++step) {
      worst = worse(worst, relative(track.logits[step], floats(logits.slice(step, step + 1))));
      if (step < inner.shape[0]) {
        worst_inner =
            worse(worst_inner, relative(track.inner[step], floats(inner.slice(step, step + 1))));
      }
    }
    most_steps = std::max(most_steps, c.steps);
  }
  EXPECT_LT(worst, kLogits);
  EXPECT_LT(worst_inner, kLogits);
  EXPECT_GE(most_steps, 140);
  RecordProperty("worst_logits", std::to_string(worst * 1e6) + "e-6");
  RecordProperty("worst_inner_logits", std::to_string(worst_inner * 1e6) + "e-6");
}

TEST_P(CsmParity, SamplesOfARequest) {
  float worst = 0;
  int compared = 0;
  for (const Case& c : cases_) {
    if (!c.golden->find("samples")) continue;
    const std::vector<int32_t> frames = ints(c.golden->view("frames"));
    const GoldenSamples want(*c.golden);
    Runner runner(model_);
    const ChunkStage& stage = *model_.graph().links()[0].stage;
    const auto stream = open_stream(stage, *runner.open(c.request).state);
    const int count = static_cast<int>(want.count()) / stage.out_width();
    std::vector<float> got(static_cast<size_t>(want.count()));
    ChunkJob job;
    job.state = stream.get();
    job.codes = std::span(frames).first(count * stage.in_width());
    job.fresh = count;
    job.out = got;
    stage.run(runner.context(), std::span(&job, 1));
    worst = worse(worst, want.distance(got));
    ++compared;
  }
  EXPECT_EQ(compared, 1);
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst_samples", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(CsmParity, WeightsOfEveryKindStayClose) {
  // How far the logits of the first steps move, and whether greedy decoding begins the same.
  const Case& c = cases_[0];
  const Csm half({dir_ + "/checkpoint", "x", WeightType::kBF16});
  const Csm q8({dir_ + "/checkpoint", "x", WeightType::kQ8});
  const auto error = [&](const Csm& model) {
    Runner runner(model);
    Track track = runner.open(c.request);
    runner.step(track);
    const View want = c.golden->view("logits").slice(0, 1);
    double off = 0, power = 0;
    for (int64_t i = 0; i < want.count(); ++i) {
      off += std::pow(double{track.logits[0][i]} - want.f32()[i], 2);
      power += std::pow(double{want.f32()[i]}, 2);
    }
    return std::sqrt(off / power);
  };
  const double half_error = error(half), q8_error = error(q8);
  EXPECT_LT(half_error, 0.01);
  EXPECT_LT(q8_error, 0.03);
  RecordProperty("bf16", std::to_string(half_error));
  RecordProperty("q8", std::to_string(q8_error));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, CsmParity, testing::Values("published_rates", "taught"));

}  // namespace
}  // namespace syrinx::csm
