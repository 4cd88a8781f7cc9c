// Runs the golden checkpoint through the whole engine: audio of the original implementation, the
// same samples alone and among others, at any latency; texts in parts, at once or in pieces.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "families/voxcpm2/pipeline.h"
#include "io/file.h"
#include "io/golden_samples.h"

namespace syrinx::voxcpm2 {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/voxcpm2/golden/" + name;
}

std::unique_ptr<Engine> engine(EngineOptions options = {}) {
  options.threads = 2;
  options.max_unread_s = 1e9;
  return std::make_unique<Engine>(load_as<voxcpm2::VoxCpm2>({golden("checkpoint"), "tiny"}),
                                  options);
}

TEST(VoxCpm2Engine, SpeaksAsTheOriginal) {
  const auto server = engine();
  for (const auto& json : nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20))) {
    if (json["name"] != "fox") continue;
    const Safetensors file(golden("fox.safetensors"));
    SpeechRequest request;
    request.say.text = json["text"];
    request.sampling.seed = json["seed"];
    request.terms.max_frames = json["steps"];
    request.terms.ignore_stop = true;
    const std::vector<float> got = spoken(*server, request);
    const GoldenSamples want(file);
    ASSERT_EQ(std::ssize(got), want.count());
    EXPECT_LT(want.distance(got), 3e-4f);
  }
}

TEST(VoxCpm2Engine, EndsByItself) {
  SpeechRequest request;
  request.say.text = "how are you?";
  request.sampling.seed = (uint64_t{5} << 32) + 3;
  request.sampling.guidance = 3.5f;
  const auto server = engine();
  const auto sink = ask(*server, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop);
  EXPECT_EQ(std::ssize(sink->samples()), 21 * 4 * 60) << "as many steps as the original took";
}

TEST(VoxCpm2Engine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you?";
  request.sampling.seed = 5;
  request.terms.max_frames = 40;
  request.terms.ignore_stop = true;
  const std::vector<float> alone =
      expect_the_same_in_a_crowd(engine, request, 12, [](int i, SpeechRequest& other) {
        if (i % 3 != 0)
          other.say.text = "The fox number " + std::to_string(i), other.sampling.seed = i;
        if (i % 3 == 1) other.sampling.guidance = 1.f, other.terms.max_frames = 10 + i;
        if (i % 3 == 2)
          other.sampling.temperature = 0.3f, other.terms.initial_chunk_frames = 1 + i % 5;
        if (i == 3) other.terms.initial_chunk_frames = 7;
        if (i == 6) other.terms.offline = true;
        return i % 3 != 0;
      });
  EXPECT_EQ(std::ssize(alone), 40 * 4 * 60);
}

/// A text that is too long for the model's positions is spoken in consecutive parts.
TEST(VoxCpm2Engine, ALongTextIsSpokenToItsEnd) {
  SpeechRequest request;
  for (int i = 0; i < 120; ++i)
    request.say.text += "The fox number " + std::to_string(i) + " ran. ";
  request.sampling.seed = 5;
  EngineOptions options;
  options.repetition_s = 0;
  const auto server = engine(options);
  const auto sink = ask(*server, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop) << sink->wait().error.message;
  const std::vector<float> alone = sink->samples();
  const size_t part = 4 * 4 * 60;  // at least this many samples
  EXPECT_GE(alone.size(), 8 * part);
  std::vector<std::shared_ptr<Reader>> sinks;
  for (int i = 0; i < 4; ++i) {
    SpeechRequest other = request;
    if (i % 2 == 1) other.sampling.seed = i, other.say.text.resize(600);
    sinks.push_back(ask(*server, other));
  }
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(sinks[i]->wait().reason, FinishReason::kStop) << sinks[i]->wait().error.message;
    EXPECT_TRUE(i % 2 == 1 || sinks[i]->samples() == alone) << i;
  }
}

TEST(VoxCpm2Engine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.sampling.seed = 2;
  expect_late_text_sounds_the_same(
      *engine(), request,
      "(warm) The first sentence is long enough to stand by itself, and it does. How are you? And "
      "this is another one that is long enough for that.");
}

}  // namespace
}  // namespace syrinx::voxcpm2
