// Tests Step-Audio-2-mini through the engine: its results equal those of its authors' code (see
// README.md), and the small checkpoint keeps the promises of the graph under any schedule.
#include <gtest/gtest.h>

#include "engine/testing/spoken_answers.h"
#include "families/step_audio2/fixture.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::step_audio2 {
namespace {

using nlohmann::ordered_json;

std::shared_ptr<const Pipeline> step_model() {
  return load_as<step_audio2::StepAudio2>(spec_of(golden("checkpoint")));
}

/// Compares golden answers to speech, in text and speech, each as a whole.
TEST(StepEngine, AnswersAsTheAuthors) {
  expect_golden_answers(step_model(), golden_cases(), request_of, golden,
                        [](int64_t codes) { return codes * 960; });
}

std::vector<SpeechRequest> kinds() {
  std::vector<SpeechRequest> cases;
  for (const ordered_json& c : golden_cases()) {
    SpeechRequest& request = cases.emplace_back(request_of(c));
    for (auto& recording : request.writing.recordings) {  // short recordings make schedules quick
      auto shorter = std::make_shared<Recording>(*recording);
      shorter->samples.resize(std::min<size_t>(shorter->samples.size(), 20000));
      recording = shorter;
    }
  }
  SpeechRequest aloud;
  aloud.voice.data = golden_voice(9);
  std::vector<SpeechRequest> out = requests_of_all_kinds(cases, aloud);
  SpeechRequest whole = out.front();
  whole.terms.flow = FlowMode::kFull;
  out.push_back(whole);
  return out;
}

TEST(StepSchedules, MixedRequestsAreTheSameUnderAnySchedule) {
  expect_the_same_under_any_schedule(step_model(), kinds(), 12);
}

TEST(StepSchedules, IsCancelledAtAnyMoment) {
  expect_to_be_cancelled_at_any_moment(step_model(), kinds().front());
}

TEST(StepSchedules, TextAloneRunsNeitherFlowNorVocoder) {
  SpeechRequest request = request_of(golden_cases()["heard"]);
  request.writing.max_tokens = 20;
  expect_text_alone(step_model(), request, 4);  // the stem, two layers and the adapter
}

/// The first audio is sent 28 codes after the prompt, long before the answer has ended.
TEST(StepSchedules, SpeaksWhileItGoesOn) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you? Now write about it, 12345 and they're here.";
  request.writing.max_tokens = 150;
  request.sampling.temperature = 0.f;
  request.voice.data = golden_voice(20);
  const SpokenTimes times = spoken_times(step_model(), request);
  EXPECT_LT(times.first_flow_s, 45) << "7 ids of text and 28 codes";
  EXPECT_GT(times.last_step_s, times.first_flow_s + 40);
}

TEST(Step, DescribesItself) {
  const auto pipeline = step_model();
  const PipelineInfo& info = pipeline->info();
  EXPECT_TRUE(info.writes && info.speaks);
  EXPECT_EQ(info.speech.sample_rate, 24000);
  EXPECT_EQ(info.speech.frame_rate, 25);
  EXPECT_EQ(info.parts.size(), 5u);
}

}  // namespace
}  // namespace syrinx::step_audio2
