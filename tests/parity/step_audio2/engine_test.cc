// Step-Audio-2-mini through the engine: against its authors' code (see README.md), and the promises
// of the graph under any schedule, on the small checkpoint.
#include <gtest/gtest.h>

#include "engine/testing/spoken_answers.h"
#include "families/step_audio2/fixture.h"
#include "io/safetensors.h"
#include "model/step_runner.h"

namespace syrinx::step_audio2 {
namespace {

using nlohmann::ordered_json;

constexpr int kLm = 1;

std::shared_ptr<const Pipeline> step_model() {
  return step_audio2::load(spec_of(golden("checkpoint")));
}

/// Speech in, text and speech out, all of it at once.
TEST(StepEngine, AnswersAsTheAuthors) {
  Executor executor(ExecutorOptions{.threads = 2, .greedy = true});
  const auto pipeline = step_model();
  const ordered_json all = golden_cases();
  int sounds = 0;
  for (const auto& [name, c] : all.items()) {
    SCOPED_TRACE(name);
    const Safetensors file(golden(name + ".safetensors"));
    Script script;
    script.options.repetition_s = 0;
    ScriptedMachine machine(script, &executor);
    machine.add(pipeline);
    const auto client = machine.submit(request_of(c));
    ASSERT_TRUE(client) << machine.refusal.message;
    const Sequence& answer = *client->active->runs[kLm].ar->sequence;
    const auto told = answer.prompt_ids();
    const std::vector<int32_t> prompt(told.begin(), told.end());
    machine.run_to_end();
    ASSERT_TRUE(client->done);
    EXPECT_EQ(client->outcome.reason, FinishReason::kLength) << client->outcome.error.message;
    const std::vector<int32_t> ids = ints(file.view("ids"));
    EXPECT_EQ(prompt, std::vector<int32_t>(ids.begin(), ids.begin() + c["prompt"].get<int>()));
    EXPECT_EQ(client->written, c["text"].get<std::string>());
    EXPECT_EQ(std::ssize(client->samples), c["codes"].get<int64_t>() * 960);
    if (!c.contains("samples")) continue;
    ASSERT_EQ(std::ssize(client->samples), c["samples"].get<int64_t>());
    ++sounds;
    expect_ends(client->samples, file);
    expect_clean(machine, 1);
  }
  EXPECT_EQ(sounds, 1);
}

/// Requests of all kinds that there are.
std::vector<SpeechRequest> kinds() {
  std::vector<SpeechRequest> out;
  const ordered_json cases = golden_cases();
  for (const auto& [name, c] : cases.items()) {
    SpeechRequest drawn = request_of(c);
    for (auto& recording : drawn.recordings) {  // a schedule is many runs
      auto shorter = std::make_shared<Recording>(*recording);
      shorter->samples.resize(std::min<size_t>(shorter->samples.size(), 20000));
      recording = shorter;
    }
    drawn.seed = 5 + out.size();
    drawn.temperature = 1.1f;
    drawn.text_only = false;
    drawn.max_tokens = 90;
    out.push_back(drawn);
    SpeechRequest read = drawn;
    read.text_only = true;
    read.max_tokens = 20;
    out.push_back(read);
  }
  SpeechRequest aloud;
  aloud.text = "Hello there, how are you?";
  aloud.voice_data = golden_voice(9);
  aloud.max_tokens = 60;
  out.push_back(aloud);
  SpeechRequest whole = out.front();
  whole.flow = FlowMode::kFull;
  out.push_back(whole);
  SpeechRequest stops = out.front();
  stops.stop = {"st", "你好"};
  out.push_back(stops);
  return out;
}

TEST(StepSchedules, MixedRequestsAreTheSameUnderAnySchedule) {
  expect_the_same_under_any_schedule(step_model(), kinds(), 12);
}

TEST(StepSchedules, IsCancelledAtAnyMoment) {
  Executor executor(1);
  const auto pipeline = step_model();
  SpeechRequest request = kinds().front();
  request.max_tokens = 8;
  cancel_at_any_moment(pipeline, tell_alone(pipeline, request, executor), executor);
}

TEST(StepSchedules, TextAloneRunsNeitherFlowNorVocoder) {
  SpeechRequest request = request_of(golden_cases()["heard"]);
  request.max_tokens = 20;
  expect_text_alone(step_model(), request, 4);  // stem, two layers, adapter
}

/// 28 codes after the prompt there is sound, long before the answer is over.
TEST(StepSchedules, SpeaksWhileItGoesOn) {
  SpeechRequest request;
  request.text = "Hello there, how are you? Now write about it, 12345 and they're here.";
  request.max_tokens = 150;
  request.temperature = 0.f;
  request.voice_data = golden_voice(20);
  const SpokenTimes times = spoken_times(step_model(), request);
  EXPECT_LT(times.first_flow_s, 45) << "7 ids of text and 28 codes";
  EXPECT_GT(times.last_step_s, times.first_flow_s + 40);
}

TEST(Step, TellsOfItself) {
  const auto pipeline = step_model();
  const PipelineInfo& info = pipeline->info();
  EXPECT_TRUE(info.writes && info.speaks);
  EXPECT_EQ(info.sample_rate, 24000);
  EXPECT_EQ(info.frame_rate, 25);
  EXPECT_EQ(info.parts.size(), 5u);
}

}  // namespace
}  // namespace syrinx::step_audio2
