// A golden checkpoint through the whole engine: audio of the authors' package, the same samples
// alone and in a crowd, and text that arrives while speaking.
#include <gtest/gtest.h>

#include <cmath>
#include <future>
#include <nlohmann/json.hpp>

#include "engine/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"

namespace syrinx::qwen3_tts {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/qwen3_tts/golden/" + name;
}

std::unique_ptr<Engine> engine(const std::string& name, const EngineOptions& options = {}) {
  return golden_engine(golden(name) + "/checkpoint", options);
}

class Qwen3TtsEngine : public testing::TestWithParam<const char*> {};

TEST_P(Qwen3TtsEngine, SpeaksAsTheAuthorsPackage) {
  const auto server = engine(GetParam());
  int compared = 0;
  for (const auto& c :
       nlohmann::json::parse(read_file(golden(GetParam()) + "/cases.json", 1 << 20))) {
    const Safetensors file(golden(GetParam()) + "/" + c["name"].get<std::string>() +
                           ".safetensors");
    if (!file.find("samples")) continue;
    SpeechRequest request;
    request.text = c["text"];
    request.voice = c["speaker"];
    request.language = c["language"];
    request.instructions = c.value("instruct", "");
    request.temperature = 0.f;
    request.repetition_penalty = 1.f;
    request.max_frames = c["steps"];
    const std::vector<float> got = spoken(*server, request);
    const GoldenSamples want(file);
    ASSERT_GE(std::ssize(got), want.count());
    EXPECT_LT(want.distance(std::span(got).first(static_cast<size_t>(want.count()))), 1e-4f)
        << c["name"];
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(Qwen3TtsEngine, InstructionsAreComputedOnceAndSoundTheSame) {
  EngineOptions apart;
  apart.share_prefixes = false;
  const auto once = engine(GetParam()), again = engine(GetParam(), apart);
  for (const char* text : {"Hello there.", "Quite another sentence."}) {
    SpeechRequest request;
    request.text = text;
    request.instructions = "Speak slowly, with a calm and warm voice, as one who tells a story.";
    request.max_frames = 12;
    request.ignore_stop = true;
    EXPECT_EQ(spoken(*once, request), spoken(*again, request)) << text;
  }
  EXPECT_GE(once->metrics().prefix_rows.value(), 8);
  EXPECT_EQ(again->metrics().prefix_rows.value(), 0);
}

TEST_P(Qwen3TtsEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.ignore_stop = true;
  const auto make = [](const EngineOptions& options) { return engine(GetParam(), options); };
  expect_the_same_in_a_crowd(make, request, 12, [](int i, SpeechRequest& other) {
    if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
    other.text_in_prompt = i % 3 == 1 ? std::optional(false) : std::nullopt;
    return i % 3 != 0;
  });
}

TEST_P(Qwen3TtsEngine, LateTextIsSpokenLikeKnownText) {
  const auto server = engine(GetParam());
  SpeechRequest known;
  known.text = "Hello there, how are you? The quick brown fox.";
  known.text_in_prompt = false;
  known.temperature = 0.f;
  known.max_frames = 50;
  known.ignore_stop = true;
  const std::vector<float> want = spoken(*server, known);

  SpeechRequest late = known;
  late.text = "";
  late.text_open = true;
  auto sink = std::make_shared<Collector>();
  const auto id = server->submit(late, sink);
  ASSERT_TRUE(id.ok());
  for (size_t at = 0; at < known.text.size(); at += 5) {
    server->append_text(id.value(), known.text.substr(at, 5), at + 5 >= known.text.size());
  }
  EXPECT_EQ(sink->wait().reason, FinishReason::kLength);
  EXPECT_TRUE(sink->samples() == want);
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
    const auto id =
        server->encode_voice({.samples = {signal.f32(), signal.f32() + signal.count()},
                              .sample_rate = 24000,
                              .text = c["said"]},
                             7, [&](Result<Voice> voice) { made.set_value(std::move(voice)); });
    ASSERT_TRUE(id.ok()) << id.error().message;
    Result<Voice> voice = made.get_future().get();
    ASSERT_TRUE(voice.ok()) << voice.error().message;

    SpeechRequest request;
    request.voice_data = std::make_shared<Voice>(voice.take());
    request.text = c["text"];
    request.language = c["language"];
    request.text_in_prompt = c["text_mode"] == "whole";
    request.temperature = 0.f;
    request.repetition_penalty = 1.f;
    request.max_frames = c["steps"];
    const GoldenSamples want(file);
    const double shared = server->metrics().prefix_rows.value();
    for (int round = 0; round < 2; ++round) {  // the second time on pages of the first
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

INSTANTIATE_TEST_SUITE_P(Checkpoints, Qwen3TtsEngine, testing::Values("equal_width", "projected"));

}  // namespace
}  // namespace syrinx::qwen3_tts
