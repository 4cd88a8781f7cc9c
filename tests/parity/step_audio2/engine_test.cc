// Tests Step-Audio-2-mini through the engine: its results equal those of its authors' code (see
// README.md). tests/parity/writing has the promises of the graph.
#include <gtest/gtest.h>

#include "engine/testing/spoken_answers.h"
#include "families/step_audio2/fixture.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::step_audio2 {
namespace {

std::shared_ptr<const Pipeline> step_model() {
  return load_as<step_audio2::StepAudio2>(spec_of(golden("checkpoint")));
}

/// Compares golden answers to speech, in text and speech, each as a whole.
TEST(StepEngine, AnswersAsTheAuthors) {
  expect_golden_answers(step_model(), golden_cases(), request_of, golden,
                        [](int64_t codes) { return codes * 960; });
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
