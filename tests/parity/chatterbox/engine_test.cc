// The golden checkpoint through the whole engine, guidance pairs included: the authors' samples,
// and the same samples alone and in a crowd.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/collector.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/runtime.h"

namespace syrinx::chatterbox {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/chatterbox/golden/" + name;
}

std::unique_ptr<Engine> engine(int max_batch = 8) {
  LoadOptions load;
  load.model = golden("checkpoint");
  load.weights = "f32";
  load.engine.threads = 2;
  load.engine.max_batch = max_batch;
  load.engine.max_unread_s = 1e9;
  load.engine.repetition_s = 0;
  return load_engine(load);
}

std::vector<float> speak(Engine& engine, const SpeechRequest& request) {
  auto sink = std::make_shared<Collector>();
  const auto id = engine.submit(request, sink);
  EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
  if (!id.ok()) return {};
  EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
  return sink->samples();
}

TEST(ChatterboxEngine, SpeaksAsTheAuthorsCode) {
  const auto c = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20)).back();
  const Safetensors file(golden(c["name"].get<std::string>() + ".safetensors"));
  SpeechRequest request;
  request.text = c["text"];
  request.temperature = 0.f;
  request.guidance = c["guidance"].get<float>();
  request.seed = 7;
  request.max_frames = c["steps"];
  const std::vector<float> got = speak(*engine(), request);
  const GoldenSamples want(file);
  ASSERT_EQ(std::ssize(got), want.count());
  EXPECT_LT(want.distance(got), 1e-4f);
}

TEST(ChatterboxEngine, SpeaksInTheAuthorsModeWhenNobodyListens) {
  const auto c = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20)).back();
  const Safetensors file(golden("full.safetensors"));
  const GoldenSamples want(file);
  SpeechRequest request;
  request.text = c["text"];
  request.temperature = 0.f;
  request.guidance = c["guidance"].get<float>();
  request.seed = 7;
  request.max_frames = 24;
  const auto one = engine();
  const std::vector<float> causal = speak(*one, request);
  request.flow = FlowMode::kFull;
  const std::vector<float> full = speak(*one, request);
  ASSERT_EQ(std::ssize(full), want.count());
  const float worst = want.distance(full);
  EXPECT_LT(worst, 1e-4f);
  RecordProperty("worst", std::to_string(worst * 1e6) + "e-6");
  EXPECT_FALSE(full == causal);
  request.flow = FlowMode::kAuto;
  request.offline = true;
  EXPECT_TRUE(speak(*one, request) == full);
  request.flow = FlowMode::kCausal;
  EXPECT_TRUE(speak(*one, request) == causal);
}

TEST(ChatterboxEngine, FullFlowIsTheSameInACrowd) {
  SpeechRequest request;
  for (int i = 0; i < 9; ++i) request.text += "The quick brown fox jumps over the lazy dog. ";
  request.seed = 5;
  request.max_frames = 60;
  request.flow = FlowMode::kFull;
  const std::vector<float> alone = speak(*engine(), request);
  EXPECT_EQ(alone.size(), size_t{60 * 960});
  const auto server = engine(4);
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 5; ++i) {
    SpeechRequest other = request;
    if (i % 2 == 1) other.flow = FlowMode::kCausal;
    sinks.push_back(std::make_shared<Collector>());
    ASSERT_TRUE(server->submit(other, sinks.back()).ok());
  }
  for (int i = 0; i < 5; ++i) {
    EXPECT_NE(sinks[i]->wait().reason, FinishReason::kError) << sinks[i]->wait().error.message;
    EXPECT_EQ(sinks[i]->samples() == alone, i % 2 == 0) << i;
  }
}

TEST(ChatterboxEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  for (int i = 0; i < 9; ++i) request.text += "The quick brown fox jumps over the lazy dog. ";
  request.seed = 5;
  request.max_frames = 60;
  const std::vector<float> alone = speak(*engine(), request);
  EXPECT_FALSE(alone.empty());
  const auto server = engine(4);  // two pairs at a time
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 6; ++i) {
    SpeechRequest other = request;
    if (i % 2 == 1) other.text = "Hello there", other.guidance = 1.f, other.seed = i;
    other.initial_chunk_frames = i;
    sinks.push_back(std::make_shared<Collector>());
    ASSERT_TRUE(server->submit(other, sinks.back()).ok());
  }
  for (int i = 0; i < 6; ++i) {
    EXPECT_NE(sinks[i]->wait().reason, FinishReason::kError) << sinks[i]->wait().error.message;
    if (i % 2 == 0) {
      EXPECT_TRUE(sinks[i]->samples() == alone) << i;
    }
  }
}

}  // namespace
}  // namespace syrinx::chatterbox
