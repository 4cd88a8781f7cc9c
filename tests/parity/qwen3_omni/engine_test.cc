// Tests Qwen3-Omni through the engine: its results equal those of transformers (see README.md), and
// its stages run beside each other. tests/parity/writing has the promises of the graph.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "audio/resampler.h"
#include "engine/testing/mixed_schedules.h"
#include "families/checkpoint_copy.h"
#include "families/qwen3_omni/fixture.h"
#include "families/qwen3_omni/pipeline.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "io/test_dir.h"
#include "kernels/fixture.h"
#include "model/step_runner.h"

namespace syrinx::qwen3_omni {
namespace {

using nlohmann::ordered_json;

constexpr const char* kSizes[] = {"published", "other"};
constexpr int kTower = 0, kThinker = 1, kTalker = 2, kCode2Wav = 3;

std::string golden_dir(const std::string& size) {
  return SYRINX_BINARY_DIR "/parity/qwen3_omni/golden/" + size;
}

std::shared_ptr<const Pipeline> load_omni(const std::string& dir,
                                          WeightType weights = WeightType::kF32) {
  return load_as<qwen3_omni::Qwen3Omni>({dir, "omni", weights, false, Device::kCpu});
}

std::shared_ptr<const Pipeline> omni(const std::string& size) {
  return load_omni(golden_dir(size) + "/checkpoint");
}

ordered_json golden_cases(const std::string& size) {
  ordered_json all = ordered_json::parse(read_file(golden_dir(size) + "/cases.json", 1 << 16));
  all.erase("codec");
  return all;
}

TEST(OmniParity, TheWholePipelineAnswersAsTheAuthors) {
  Executor executor(2, {.greedy = true});
  for (const char* size : kSizes) {
    const auto pipeline = omni(size);
    const size_t width = pipeline->graph().node(kCode2Wav).chunk->in_width();
    const ordered_json cases = golden_cases(size);
    for (const auto& [name, c] : cases.items()) {
      SCOPED_TRACE(std::string(size) + " " + name);
      const Safetensors golden(golden_dir(size) + "/" + name + ".safetensors");
      std::vector<int32_t> codes;
      Script script;
      script.options.repetition_s = 0;
      script.ends = [&](Batch& batch) {
        if (batch.node != kCode2Wav) return;
        for (const ChunkJob& job : batch.jobs()) {
          const auto fresh = job.codes.subspan(job.left * width, job.fresh * width);
          codes.insert(codes.end(), fresh.begin(), fresh.end());
        }
      };
      ScriptedMachine machine(script, &executor);
      machine.add(pipeline);
      const auto client = machine.submit(request_of(c));
      ASSERT_TRUE(client) << machine.refusal.message;
      const std::vector<int32_t> ids = ints(golden.view("ids"));
      const std::span<const int32_t> prompt =
          client->active->runs[kThinker].ar->sequence->prompt_ids();
      EXPECT_EQ(std::vector<int32_t>(prompt.begin(), prompt.end()),
                std::vector<int32_t>(ids.begin(), ids.begin() + c["prompt"].get<int>()));
      machine.run_to_end();
      ASSERT_TRUE(client->done);
      EXPECT_EQ(client->outcome.reason, FinishReason::kLength) << client->outcome.error.message;
      EXPECT_EQ(client->outcome.completion_tokens, 9);
      EXPECT_EQ(client->written, c["text"].get<std::string>());
      EXPECT_EQ(codes, ints(golden.view("codes")));
      const View want = golden.view("samples");
      ASSERT_GE(std::ssize(client->samples), want.count());
      float* tail = client->samples.data() + client->samples.size() - want.count();
      EXPECT_LT(fixture::difference({tail, DType::kF32, want.shape}, want), 1e-4);
      expect_clean(machine, 1);
    }
  }
}

/// Returns the golden requests of a checkpoint with other bounds, so that the talker draws codes.
std::vector<SpeechRequest> drawn(const std::string& size) {
  std::vector<SpeechRequest> out;
  for (const ordered_json& c : golden_cases(size)) {
    SpeechRequest& request = out.emplace_back(request_of(c));
    request.sampling.seed = 5 + out.size();
    request.writing.max_tokens = 60;
    request.terms.max_frames = 40;
  }
  return out;
}

/// The output is the same if stages run at the same time, or if a slow stage makes them run one
/// after another.
TEST(OmniSchedules, StagesRunBesideOrBehindEachOther) {
  Executor executor(1);
  SpeechRequest request = drawn("other").front();
  request.writing.max_tokens = 30;
  request.terms.ignore_stop = true;
  const auto pipeline = omni("other");
  const ExpectedAnswer expected = run_alone(pipeline, request, executor);
  for (const int slow : {kTower, kThinker, kTalker, kCode2Wav}) {
    Script script;
    script.options.repetition_s = 0;
    script.slots = {{{1, true}, {1, true}}, false, false};
    script.batch_s = [&](const Batch& batch) { return batch.node == slow ? 100. : 1e-3; };
    ScriptedMachine machine(script, &executor);
    machine.add(pipeline);
    const auto client = machine.submit(request);
    double thought_s = 0, first_frame_s = 0;  // the thinker's last step and the talker's first step
    machine.script.ends = [&](Batch& batch) {
      if (batch.node == kThinker) thought_s = machine.now();
      if (batch.node == kTalker && first_frame_s == 0) first_frame_s = machine.now();
    };
    machine.run_to_end();
    EXPECT_EQ(client->written, expected.text);
    EXPECT_EQ(client->samples, expected.samples);
    if (slow == kThinker) {
      EXPECT_LT(first_frame_s + 2000, thought_s) << "the talker waited for the thinker";
    }
  }
}

/// With bf16 weights, too, the bits do not depend on the other requests in a batch.
TEST(OmniSchedules, TheSameBitsInBf16) {
  Executor executor(2);
  const auto pipeline = load_omni(golden_dir("published") + "/checkpoint", WeightType::kBF16);
  const std::vector<SpeechRequest> requests = drawn("published");
  std::vector<ExpectedAnswer> alone;
  for (const SpeechRequest& request : requests)
    alone.push_back(run_alone(pipeline, request, executor));
  Script script;
  script.options.repetition_s = 0;
  ScriptedMachine machine(script, &executor);
  machine.add(pipeline);
  std::vector<std::shared_ptr<ScriptedClient>> clients;
  for (const SpeechRequest& request : requests) clients.push_back(machine.submit(request));
  machine.run_to_end();
  for (size_t i = 0; i < requests.size(); ++i) {
    EXPECT_EQ(clients[i]->written, alone[i].text) << i;
    EXPECT_EQ(clients[i]->samples, alone[i].samples) << i;
  }
}

TEST(Omni, AnAnswerOfNothingIsSilence) {
  Executor executor(1);
  SpeechRequest request = drawn("other").front();
  request.writing.max_tokens = 1;
  const ExpectedAnswer expected = run_alone(omni("other"), request, executor);
  EXPECT_FALSE(expected.text.empty());
  EXPECT_TRUE(expected.samples.empty());
  EXPECT_EQ(expected.reason, FinishReason::kLength);
}

TEST(Omni, ReadsATextAloud) {
  Executor executor(1);
  SpeechRequest request;
  request.say.text = "D38E5C1";
  request.terms.max_frames = 30;
  const ExpectedAnswer expected = run_alone(omni("other"), request, executor);
  EXPECT_EQ(expected.text, request.say.text);
  EXPECT_FALSE(expected.samples.empty());
}

TEST(Omni, DescribesItself) {
  const PipelineInfo& info = omni("published")->info();
  EXPECT_TRUE(info.writes && info.speaks);
  EXPECT_EQ(info.speech.sample_rate, 24000);
  EXPECT_EQ(info.speech.frame_rate, 12.5);
  EXPECT_EQ(info.speech.default_voice, "ethan");
  ASSERT_EQ(info.speech.voices.size(), 3u);
  EXPECT_EQ(info.parts.size(), 6u);
}

TEST(Omni, RefusesWhatItCannotDo) {
  const auto pipeline = omni("other");
  const auto refusal = [&](const SpeechRequest& request) {
    const auto opened = pipeline->open(request);
    return opened.ok() ? std::string() : opened.error().message;
  };
  const ordered_json heard = golden_cases("other")["heard"];
  SpeechRequest request = request_of(heard);
  EXPECT_EQ(refusal(request), "");
  request.voice.name = "nobody";
  EXPECT_EQ(refusal(request), "the model has no voice \"nobody\"; it has aiden, chelsie, ethan");
  request.writing.text_only = true;
  EXPECT_EQ(refusal(request), "") << "an answer without speech needs no voice";
  request.writing.recordings = {};
  EXPECT_EQ(refusal(request),
            "the chat template has more places for recordings than the request has recordings");
  request.writing.recordings = {golden_recording(20000, 7), golden_recording(20000, 7)};
  EXPECT_EQ(refusal(request),
            "the chat template has places for fewer recordings than the request has");
  request.writing.recordings = {golden_recording(100, 7)};
  EXPECT_EQ(refusal(request), "recording 1 is too short: 100 samples at 16 kHz");
  request.writing.recordings = {golden_recording(400 * 16000, 7)};
  EXPECT_EQ(check_request(pipeline->info(), request).error().message,
            "the recordings last 400 s, the limit is 300 s");
  const auto part = [](const char* type) {
    return chat_of({{{"role", "user"}, {"content", {{{"type", type}, {type, ""}}}}}});
  };
  EXPECT_EQ(refusal(part("image")), "this model does not accept pictures or video");
  // A recording's id in a client's text is plain text, not a place for a recording.
  EXPECT_EQ(refusal(chat_of({{{"role", "user"}, {"content", "<|audio_pad|>"}}})), "");
  SpeechRequest empty;
  EXPECT_EQ(refusal(empty), "the text contains nothing to speak");
  SpeechRequest longest;
  longest.say.text = std::string(1025, '1');
  EXPECT_EQ(refusal(longest),
            "the text has 1025 tokens; this model reads at most 1024 aloud at once");
}

/// A recording at another rate is resampled; a recording at 16 kHz is used unchanged.
TEST(Omni, RecordingsMayHaveAnyRate) {
  Executor executor(1);
  SpeechRequest request = request_of(golden_cases("other")["heard"]);
  request.writing.text_only = true;
  auto other = std::make_shared<Recording>(*request.writing.recordings[0]);
  other->sample_rate = 8000;
  request.writing.recordings = {other};
  const auto pipeline = omni("other");
  const auto opened = pipeline->open(request);
  ASSERT_TRUE(opened.ok());
  const auto& samples = opened.value().samples;
  EXPECT_EQ(samples.size(), 3u * 16000) << "40000 samples in whole seconds";
  const auto heard = resampled(other->samples, 8000, 16000, Resampling::kSoxr);
  EXPECT_TRUE(std::equal(heard.begin(), heard.end(), samples.begin())) << "as the authors do";
}

/// The chat template equals chat_template.json, which transformers' processors read first.
TEST(Omni, ItsTemplateIsThatOfItsProcessor) {
  const CheckpointCopy copy(golden_dir("other") + "/checkpoint");
  const auto prompt = [&] {
    const auto pipeline = load_omni(copy.dir.path());
    const auto opened = pipeline->open(request_of(golden_cases("other")["heard"]));
    EXPECT_TRUE(opened.ok()) << opened.error().message;
    const auto ids = opened.value().sequence().prompt_ids();
    return std::vector<int32_t>(ids.begin(), ids.end());
  };
  const std::vector<int32_t> want = prompt();
  copy.dir.write("chat_template.jinja", "a tokenizer's");
  EXPECT_EQ(prompt(), want);
}

/// A checkpoint without the talker and its codec loads and writes text.
TEST(Omni, ACheckpointWithoutTalkerWrites) {
  const CheckpointCopy copy(golden_dir("other") + "/checkpoint");
  const TestDir& dir = copy.dir;
  ordered_json config = ordered_json::parse(read_file(dir.path("config.json"), 1 << 20));
  config["enable_audio_output"] = false;
  dir.write("config.json", config.dump());
  const auto pipeline = load_omni(dir.path());
  EXPECT_FALSE(pipeline->info().speaks);
  Executor executor(1);
  const ordered_json c = golden_cases("other")["heard"];
  const ExpectedAnswer expected = run_alone(pipeline, request_of(c), executor);
  EXPECT_EQ(expected.text, c["text"].get<std::string>());
  EXPECT_TRUE(expected.samples.empty());
  SpeechRequest speech;
  speech.say.text = "D";
  EXPECT_EQ(pipeline->open(speech).error().message,
            "this checkpoint writes text and does not speak");
}

}  // namespace
}  // namespace syrinx::qwen3_omni
