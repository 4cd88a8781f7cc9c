// Tests the stages behind the language models of golden_models.h, which make samples of codes or
// latents: the samples of the authors' code, and the same bits however frames arrive, however a
// stream is cut into chunks, and beside other streams.
#include "base/worst.h"
#include "families/golden_models.h"
#include "io/golden_samples.h"
#include "kernels/fixture.h"
#include "model/run_streams.h"

namespace syrinx {
namespace {

class CodecStages : public testing::TestWithParam<GoldenModel> {
 protected:
  /// What a language model has said: its sequence, and frames as codes or as latents.
  struct Said {
    std::shared_ptr<const Sequence> sequence;
    std::vector<int32_t> codes = {};
    std::vector<float> values = {};

    StageStream stream(const ChunkStage& stage) const {
      return {.state = open_stream(stage, *sequence), .codes = codes, .values = values};
    }
  };

  template <typename T>
  static void reverse_frames(std::vector<T>& all, size_t width) {
    std::ranges::reverse(all);
    for (size_t at = 0; at < all.size(); at += width)
      std::reverse(all.begin() + static_cast<int64_t>(at),
                   all.begin() + static_cast<int64_t>(at + width));
  }
  /// Returns the frames of a case with samples; at most `most` frames.
  Said said(const GoldenCase& c, int64_t most) const {
    const auto width = static_cast<int64_t>(model_->graph().links()[0].stage->in_width());
    Said out{.sequence = open_only(*model_, c.request), .codes = c.frames};
    if (c.golden->find("latents")) {
      const auto all = floats(c.golden->view("latents"));
      out.values.assign(all.begin(), all.begin() + std::min(std::ssize(all), most * width));
    } else if (out.codes.empty()) {
      out.codes = ints(c.golden->view("frames"));
    }
    out.codes.resize(static_cast<size_t>(std::min(std::ssize(out.codes), most * width)));
    return out;
  }

  const std::vector<GoldenCase> cases_ = golden_cases(GetParam());
  const std::shared_ptr<const Pipeline> model_ = load_golden(GetParam());
  fixture::Bench bench_{2};
};

TEST_P(CodecStages, SamplesAreTheAuthors) {
  float worst = 0;
  int compared = 0;
  for (const GoldenCase& c : cases_) {
    if (!c.golden->find("samples")) continue;
    const GoldenSamples want(*c.golden);
    Said all = said(c, want.count() / samples_a_frame(*model_));
    for (const Link& link : model_->graph().links()) {
      all.values = run_stream(bench_.ctx, *link.stage, link.policy, all.stream(*link.stage),
                              1 << 20, Cutting::kWhole);
      all.codes.clear();
    }
    ASSERT_EQ(std::ssize(all.values), want.count()) << c.name;
    worst = worse(worst, want.distance(all.values));
    ++compared;
  }
  EXPECT_EQ(compared > 0, GetParam().samples > 0);
  EXPECT_LE(worst, GetParam().samples);
  RecordProperty("worst_samples", std::to_string(worst * 1e6) + "e-6");
}

TEST_P(CodecStages, TheSameBitsInAnyChunksAndCompany) {
  if (GetParam().samples == 0) return;
  std::vector<Said> all;
  for (const GoldenCase& c : cases_)
    if (c.golden->find("samples")) all.push_back(said(c, 40));
  all.push_back(all[0]);  // the same sequence says the frames of the first case backwards
  const auto width = static_cast<size_t>(model_->graph().links()[0].stage->in_width());
  reverse_frames(all.back().codes, width), reverse_frames(all.back().values, width);
  for (int32_t& code : all.back().codes) code &= ~kS3SegmentStart;
  for (const Link& link : model_->graph().links()) {
    const ChunkStage& stage = *link.stage;
    std::vector<std::vector<float>> alone;
    for (const Said& each : all) {
      alone.push_back(run_stream(bench_.ctx, stage, link.policy, each.stream(stage)));
      for (const int64_t given : {1, 5}) {
        EXPECT_EQ(run_arriving(bench_.ctx, stage, link.policy, each.stream(stage), given),
                  alone.back())
            << link.name << ", " << given << " at a time";
      }
    }
    EXPECT_NE(alone.front(), alone.back());
    for (const int most : {1, 3}) {
      std::vector<StageStream> streams;
      std::vector<StageStream*> together;
      for (const Said& each : all) streams.push_back(each.stream(stage));
      for (StageStream& each : streams) together.push_back(&each);
      run_streams(bench_.ctx, stage, link.policy, together, most);
      for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(streams[i].out, alone[i]) << link.name;
    }
    for (size_t i = 0; i < all.size(); ++i) all[i].codes.clear(), all[i].values = alone[i];
  }
}

INSTANTIATE_TEST_SUITE_P(Models, CodecStages, testing::ValuesIn(kGoldenModels), golden_name);
INSTANTIATE_TEST_SUITE_P(Cloned, CodecStages, testing::ValuesIn(kClonedGoldenModels), golden_name);
INSTANTIATE_TEST_SUITE_P(Others, CodecStages, testing::ValuesIn(kOtherGoldenModels), golden_name);

}  // namespace
}  // namespace syrinx
