// Runs the golden checkpoint, guidance pairs included, through the engine: the authors' samples of
// the flow's other mode, and the same samples of several parts alone and among others.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"

namespace syrinx::chatterbox {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/chatterbox/golden/" + name;
}

std::unique_ptr<Engine> engine(int max_batch = 8) {
  return golden_engine(golden("checkpoint"), {.max_batch = max_batch});
}

TEST(ChatterboxEngine, SpeaksInTheAuthorsModeWhenThereIsNoListener) {
  const auto c = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20)).back();
  const Safetensors file(golden("full.safetensors"));
  const GoldenSamples want(file);
  SpeechRequest request;
  request.say.text = c["text"];
  request.sampling.temperature = 0.f;
  request.sampling.guidance = c["guidance"].get<float>();
  request.sampling.seed = 7;
  request.terms.max_frames = 24;
  const auto one = engine();
  const std::vector<float> causal = spoken(*one, request);
  request.terms.flow = FlowMode::kFull;
  const std::vector<float> full = spoken(*one, request);
  ASSERT_EQ(std::ssize(full), want.count());
  const float worst = want.distance(full);
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
  EXPECT_FALSE(full == causal);
  request.terms.flow = FlowMode::kAuto;
  request.terms.offline = true;
  EXPECT_TRUE(spoken(*one, request) == full);
  request.terms.flow = FlowMode::kCausal;
  EXPECT_TRUE(spoken(*one, request) == causal);
}

TEST(ChatterboxEngine, FullFlowIsTheSameInACrowd) {
  SpeechRequest request;
  for (int i = 0; i < 9; ++i) request.say.text += "The quick brown fox jumps over the lazy dog. ";
  request.sampling.seed = 5;
  request.terms.max_frames = 60;
  request.terms.flow = FlowMode::kFull;
  const std::vector<float> alone = spoken(*engine(), request);
  EXPECT_EQ(alone.size(), size_t{60 * 960});
  const auto server = engine(4);
  std::vector<std::shared_ptr<Reader>> sinks;
  for (int i = 0; i < 5; ++i) {
    SpeechRequest other = request;
    if (i % 2 == 1) other.terms.flow = FlowMode::kCausal;
    sinks.push_back(ask(*server, other));
  }
  for (int i = 0; i < 5; ++i) {
    expect_ended(*sinks[i]);
    EXPECT_EQ(sinks[i]->samples() == alone, i % 2 == 0) << i;
  }
}

TEST(ChatterboxEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  for (int i = 0; i < 9; ++i) request.say.text += "The quick brown fox jumps over the lazy dog. ";
  request.sampling.seed = 5;
  request.terms.max_frames = 60;
  const auto make = [](const EngineOptions&) { return engine(4); };  // room for two pairs
  expect_the_same_in_a_crowd(make, request, 6, [](int i, SpeechRequest& other) {
    if (i % 2 == 1)
      other.say.text = "Hello there", other.sampling.guidance = 1.f, other.sampling.seed = i;
    other.terms.initial_chunk_frames = i;
    return i % 2 == 1;
  });
}

}  // namespace
}  // namespace syrinx::chatterbox
