// Runs the models of families/golden_models.h through the whole engine: audio of the originals, the
// same samples alone and among others, and text that arrives while the model speaks.
#include "engine/testing/listening.h"
#include "families/golden_models.h"
#include "io/golden_samples.h"
#include "runtime/small_load.h"

namespace syrinx {
namespace {

class GoldenEngine : public testing::TestWithParam<GoldenModel> {
 protected:
  static std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                                        WeightType weights = WeightType::kF32) {
    return std::make_unique<Engine>(load_golden(GetParam(), weights), unhurried(options));
  }
};

TEST_P(GoldenEngine, SpeaksAsTheOriginal) {
  const auto server = engine();
  int compared = 0;
  for (GoldenCase& c : golden_cases(GetParam())) {
    // These segments end only by themselves, not at a limit.
    const auto by_bound = [](const GoldenCase::Segment& segment) { return !segment.ended; };
    if (!c.golden->find("samples") ||
        std::any_of(c.segments.begin(), c.segments.end() - 1, by_bound)) {
      continue;
    }
    const GoldenSamples want(*c.golden);
    const int64_t frames = want.count() / samples_a_frame(server->pipeline());
    const int64_t width = server->pipeline().graph().links()[0].stage->in_width();
    const bool whole = c.ended && frames == std::ssize(c.frames) / width;
    if (!whole) c.request.terms.max_frames = static_cast<int>(frames);
    const auto sink = answered(*server, c.request);
    EXPECT_EQ(sink->wait().reason, whole ? FinishReason::kStop : FinishReason::kLength) << c.name;
    EXPECT_EQ(std::ssize(sink->samples()), want.count()) << c.name;
    EXPECT_LT(want.distance(sink->samples()), GetParam().samples) << c.name;
    ++compared;
  }
  EXPECT_EQ(compared > 0, GetParam().samples > 0);
}

TEST_P(GoldenEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you?";
  request.sampling.seed = 5;
  request.terms.max_frames = 40;
  request.terms.ignore_stop = true;
  for (const WeightType weights : {WeightType::kF32, WeightType::kBF16, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    // Without a listener, a flow may attend to whole segments.
    const bool two_flows = load_golden(GetParam())->info().offers.has("flow");
    const std::vector<float> alone =
        expect_the_same_in_a_crowd(make, request, 12, [&](int i, SpeechRequest& other) {
          if (i == 3) other.terms.initial_chunk_frames = 7;
          if (i == 6) other.terms.offline = !two_flows;
          if (i % 3 == 0) return false;
          other.say.text = "The fox number " + std::to_string(i);
          other.sampling.seed = static_cast<uint64_t>(i);
          GetParam().vary(i, other);
          return true;
        });
    EXPECT_EQ(std::ssize(alone), 40 * samples_a_frame(*load_golden(GetParam())));
  }
}

TEST_P(GoldenEngine, LateTextSoundsTheSameHoweverItComes) {
  ASSERT_EQ(GetParam().late_text[0] != 0,
            load_golden(GetParam())->info().speech.late_text != LateText::kNone);
  if (GetParam().late_text[0] == 0) return;  // refused; see spoken_families_test
  SpeechRequest request;
  request.sampling.temperature = 0.f;
  request.sampling.seed = 3;
  request.terms.max_frames = 300;
  expect_late_text_sounds_the_same(*engine(), request, GetParam().late_text);
}

INSTANTIATE_TEST_SUITE_P(Models, GoldenEngine, testing::ValuesIn(kGoldenModels), golden_name);
INSTANTIATE_TEST_SUITE_P(Others, GoldenEngine, testing::ValuesIn(kOtherGoldenModels), golden_name);

}  // namespace
}  // namespace syrinx
