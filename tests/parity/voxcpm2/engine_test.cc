// The golden checkpoint through the whole engine: audio of the original implementation, and the
// same samples alone and in a crowd, in a hurry or not.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/collector.h"
#include "families/voxcpm2/pipeline.h"
#include "io/file.h"
#include "io/golden_samples.h"

namespace syrinx {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/voxcpm2/golden/" + name;
}

std::unique_ptr<Engine> engine(EngineOptions options = {}) {
  options.threads = 2;
  options.max_unread_s = 1e9;
  return std::make_unique<Engine>(voxcpm2::load({golden("checkpoint"), "tiny"}), options);
}

std::shared_ptr<Collector> submit(Engine& engine, const SpeechRequest& request) {
  auto sink = std::make_shared<Collector>();
  const auto id = engine.submit(request, sink);
  EXPECT_TRUE(id.ok()) << (id.ok() ? "" : id.error().message);
  return sink;
}

std::vector<float> speak(Engine& engine, const SpeechRequest& request) {
  const auto sink = submit(engine, request);
  EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
  return sink->samples();
}

TEST(VoxCpm2Engine, SpeaksAsTheOriginal) {
  const auto server = engine();
  for (const auto& json : nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20))) {
    if (json["name"] != "fox") continue;
    const Safetensors file(golden("fox.safetensors"));
    SpeechRequest request;
    request.text = json["text"];
    request.seed = json["seed"];
    request.max_frames = json["steps"];
    request.ignore_stop = true;
    const std::vector<float> got = speak(*server, request);
    const GoldenSamples want(file);
    ASSERT_EQ(std::ssize(got), want.count());
    EXPECT_LT(want.distance(got), 3e-4f);
  }
}

TEST(VoxCpm2Engine, EndsByItself) {
  SpeechRequest request;
  request.text = "how are you?";
  request.seed = (uint64_t{5} << 32) + 3;
  request.guidance = 3.5f;
  const auto server = engine();
  const auto sink = submit(*server, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kStop);
  EXPECT_EQ(std::ssize(sink->samples()), 21 * 4 * 60) << "as many steps as the original took";
}

TEST(VoxCpm2Engine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.ignore_stop = true;
  const std::vector<float> alone = speak(*engine(), request);
  EXPECT_EQ(std::ssize(alone), 40 * 4 * 60);

  EngineOptions crowded;
  crowded.max_batch = 6;  // fewer than requests: sequences come and go
  const auto server = engine(crowded);
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 12; ++i) {
    SpeechRequest other = request;
    if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
    if (i % 3 == 1) other.guidance = 1.f, other.max_frames = 10 + i;
    if (i % 3 == 2) other.temperature = 0.3f, other.initial_chunk_frames = 1 + i % 5;
    if (i == 3) other.initial_chunk_frames = 7;
    if (i == 6) other.offline = true;
    sinks.push_back(submit(*server, other));
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_NE(sinks[i]->wait().reason, FinishReason::kError) << sinks[i]->wait().error.message;
    if (i % 3 == 0) EXPECT_TRUE(sinks[i]->samples() == alone) << "request " << i;
  }
}

}  // namespace
}  // namespace syrinx
