// Runs golden checkpoints through the whole engine: instructions that requests share, and voices of
// recordings. Tests that other families share are in ../golden/engine_test.cc.
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"
#include "voices/voice_queue.h"

namespace syrinx::qwen3_tts {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/qwen3_tts/golden/" + name;
}

std::unique_ptr<Engine> engine(const std::string& name, const EngineOptions& options = {}) {
  return golden_engine(golden(name) + "/checkpoint", options);
}

TEST(Qwen3TtsEngine, InstructionsAreComputedOnceAndSoundTheSame) {
  EngineOptions apart;
  apart.share_prefixes = false;
  const auto once = engine("projected"), again = engine("projected", apart);
  for (const char* text : {"Hello there.", "Quite another sentence."}) {
    SpeechRequest request;
    request.say.text = text;
    request.say.instructions =
        "Speak slowly, with a calm and warm voice, as one who tells a story.";
    request.terms.max_frames = 12;
    request.terms.ignore_stop = true;
    EXPECT_EQ(spoken(*once, request), spoken(*again, request)) << text;
  }
  EXPECT_GE(once->metrics().prefix_rows.value(), 8);
  EXPECT_EQ(again->metrics().prefix_rows.value(), 0);
}

TEST(Qwen3TtsBase, ARecordingSpeaksAsWithTheAuthorsPackage) {
  const auto server = engine("base");
  const Safetensors recordings(golden("base/recordings.safetensors"));
  int compared = 0;
  for (const auto& c : nlohmann::json::parse(read_file(golden("base/cases.json"), 1 << 20))) {
    const Safetensors file(golden("base/" + c["name"].get<std::string>() + ".safetensors"));
    if (!file.find("samples")) continue;
    const View signal = recordings.view(c["recording"]);
    std::promise<Result<Voice>> made;
    VoiceQueue voices(*server->pipeline().voice_encoder());
    const auto id =
        voices.encode({.samples = {signal.f32(), signal.f32() + signal.count()},
                       .sample_rate = 24000,
                       .text = c["said"]},
                      7, [&](Result<Voice> voice) { made.set_value(std::move(voice)); });
    ASSERT_TRUE(id.ok()) << id.error().message;
    Result<Voice> voice = made.get_future().get();
    ASSERT_TRUE(voice.ok()) << voice.error().message;

    SpeechRequest request;
    request.voice.data = std::make_shared<Voice>(voice.take());
    request.say.text = c["text"];
    request.say.language = c["language"];
    request.say.in_prompt = c["text_mode"] == "whole";
    request.sampling.temperature = 0.f;
    request.sampling.repetition_penalty = 1.f;
    request.terms.max_frames = c["steps"];
    const GoldenSamples want(file);
    const double shared = server->metrics().prefix_rows.value();
    for (int round = 0; round < 2; ++round) {  // the second round shares pages of the first
      const std::vector<float> got = spoken(*server, request);
      ASSERT_GE(std::ssize(got), want.count());
      EXPECT_LT(want.distance(std::span(got).first(static_cast<size_t>(want.count()))), 1e-4f)
          << c["name"];
    }
    EXPECT_GT(server->metrics().prefix_rows.value(), shared);
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

}  // namespace
}  // namespace syrinx::qwen3_tts
