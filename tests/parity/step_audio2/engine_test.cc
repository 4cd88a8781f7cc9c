// Step-Audio-2-mini through the engine: against its authors' code (see README.md), and the promises
// of the graph under any schedule, on the small checkpoint.
#include <gtest/gtest.h>

#include "engine/mixed_schedules.h"
#include "families/step_audio2/fixture.h"
#include "io/safetensors.h"
#include "kernels/fixture.h"
#include "model/step_runner.h"

namespace syrinx::step_audio2 {
namespace {

using nlohmann::ordered_json;

constexpr int kHearing = 0, kLm = 1, kFlow = 2, kVocoder = 3;

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
    const View head = file.view("head"), tail = file.view("tail");
    float* samples = client->samples.data();
    EXPECT_LT(fixture::difference({samples, DType::kF32, head.shape}, head), 1e-3);
    float* last = samples + client->samples.size() - tail.count();
    EXPECT_LT(fixture::difference({last, DType::kF32, tail.shape}, tail), 1e-3);
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
  Executor executor(1);
  const auto pipeline = step_model();
  std::vector<MixedTold> told;
  for (const SpeechRequest& request : kinds())
    told.push_back(tell_alone(pipeline, request, executor));
  EXPECT_FALSE(told.front().samples.empty());
  EXPECT_TRUE(told[1].samples.empty());
  const size_t page = KvPool::page_bytes(pipeline->graph().node(kLm).ar->traits().kv[0]);
  double preemptions = 0;
  for (uint64_t seed = 0; seed < 12; ++seed) {
    const size_t pages = seed % 2 == 0 ? 12 : 200;
    preemptions +=
        MixedSchedule(seed, pipeline, told, pages * page, executor, kFlow).run().preemptions;
    if (HasFailure()) FAIL() << "schedule " << seed;
  }
  EXPECT_GT(preemptions, 0) << "the test did not force any";
}

TEST(StepSchedules, IsCancelledAtAnyMoment) {
  Executor executor(1);
  const auto pipeline = step_model();
  SpeechRequest request = kinds().front();
  request.max_tokens = 8;
  cancel_at_any_moment(pipeline, tell_alone(pipeline, request, executor), executor);
}

TEST(StepSchedules, TextAloneRunsNeitherFlowNorVocoder) {
  Executor executor(1);
  std::vector<int> batches(4);
  Script script;
  script.begins = [&](const Batch& batch) { ++batches[static_cast<size_t>(batch.node)]; };
  ScriptedMachine machine(script, &executor);
  machine.add(step_model());
  SpeechRequest request = request_of(golden_cases()["heard"]);
  request.text_only = true;
  request.max_tokens = 20;
  const auto client = machine.submit(request);
  machine.run_to_end();
  EXPECT_FALSE(client->written.empty());
  EXPECT_TRUE(client->samples.empty());
  EXPECT_EQ(batches[kHearing], 4) << "stem, two layers, adapter";
  EXPECT_EQ(batches[kFlow] + batches[kVocoder], 0);
}

/// 28 codes after the prompt there is sound, long before the answer is over.
TEST(StepSchedules, SpeaksWhileItGoesOn) {
  Executor executor(1);
  SpeechRequest request;
  request.text = "Hello there, how are you? Now write about it, 12345 and they're here.";
  request.max_tokens = 150;
  request.temperature = 0.f;
  request.voice_data = golden_voice(20);
  Script script;
  script.options.repetition_s = 0;
  script.batch_s = [](const Batch& batch) { return batch.node == kLm ? 1. : 1e-3; };
  ScriptedMachine machine(script, &executor);
  machine.add(step_model());
  const auto client = machine.submit(request);
  ASSERT_TRUE(client) << machine.refusal.message;
  double first_s = 0, last_s = 0;
  machine.script.ends = [&](Batch& batch) {
    if (batch.node == kFlow && first_s == 0) first_s = machine.now();
    if (batch.node == kLm) last_s = machine.now();
  };
  machine.run_to_end();
  EXPECT_FALSE(client->samples.empty());
  EXPECT_LT(first_s, 45) << "7 ids of text and 28 codes";
  EXPECT_GT(last_s, first_s + 40);
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
