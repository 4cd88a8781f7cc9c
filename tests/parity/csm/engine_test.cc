// A golden checkpoint through the whole engine: audio of the original implementation, the same
// samples alone and in a crowd, conversation context, and text that arrives while speaking.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/collector.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/runtime.h"

namespace syrinx::csm {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/csm/golden/" + name;
}

std::unique_ptr<Engine> engine(const std::string& name, EngineOptions options = {}) {
  LoadOptions load;
  load.model = golden(name) + "/checkpoint";
  load.weights = "f32";
  load.engine = options;
  load.engine.threads = 2;
  load.engine.max_unread_s = 1e9;
  load.engine.repetition_s = 0;
  return load_engine(load);
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

class CsmEngine : public testing::TestWithParam<const char*> {};

TEST_P(CsmEngine, SpeaksAsTheOriginal) {
  const auto server = engine(GetParam());
  int compared = 0;
  for (const auto& c :
       nlohmann::json::parse(read_file(golden(GetParam()) + "/cases.json", 1 << 20))) {
    const Safetensors file(golden(GetParam()) + "/" + c["name"].get<std::string>() +
                           ".safetensors");
    if (!file.find("samples")) continue;
    SpeechRequest request;
    request.text = c["text"];
    request.voice = c["voice"];
    request.temperature = 0.f;
    request.max_frames = c["steps"];
    const auto sink = submit(*server, request);
    EXPECT_EQ(sink->wait().reason, c["ended"] ? FinishReason::kStop : FinishReason::kLength);
    const std::vector<float>& got = sink->samples();
    const GoldenSamples want(file);
    ASSERT_GE(std::ssize(got), want.count());
    EXPECT_LE(want.distance(std::span(got).first(static_cast<size_t>(want.count()))), 1e-4f)
        << c["name"];
    ++compared;
  }
  EXPECT_GT(compared, 0);
}

TEST_P(CsmEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.ignore_stop = true;
  const std::vector<float> alone = speak(*engine(GetParam()), request);
  EXPECT_FALSE(alone.empty());

  EngineOptions crowded;
  crowded.max_batch = 6;  // fewer than requests: sequences come and go
  const auto server = engine(GetParam(), crowded);
  const size_t codebooks = server->pipeline().graph().ar().traits().vocab.size();
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int i = 0; i < 12; ++i) {
    SpeechRequest other = request;
    if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
    if (i % 3 == 1) other.context = {{"1", "fine", std::vector<int32_t>(codebooks * (i + 1), i)}};
    if (i % 3 == 2) other.temperature = 0.3f, other.top_k = 5, other.voice = "7";
    sinks.push_back(submit(*server, other));
  }
  for (int i = 0; i < 12; ++i) {
    EXPECT_NE(sinks[i]->wait().reason, FinishReason::kError) << sinks[i]->wait().error.message;
    if (i % 3 == 0) {
      EXPECT_TRUE(sinks[i]->samples() == alone) << "request " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, CsmEngine, testing::Values("published_rates", "taught"));

TEST(CsmEngine, LateTextSoundsTheSameHoweverItComes) {
  const auto server = engine("taught");  // has learned to end
  const std::string text = "hello there. How are you? I'm fine.";
  const auto spoken = [&](size_t piece) {
    SpeechRequest request;
    request.temperature = 0.f;
    request.text_open = true;
    auto sink = std::make_shared<Collector>();
    const auto id = server->submit(request, sink);
    EXPECT_TRUE(id.ok());
    for (size_t at = 0; at < text.size(); at += piece) {
      server->append_text(id.value(), text.substr(at, piece), at + piece >= text.size());
    }
    EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
    return sink->samples();
  };
  const std::vector<float> whole = spoken(text.size());
  EXPECT_FALSE(whole.empty());
  EXPECT_TRUE(spoken(3) == whole);
}

}  // namespace
}  // namespace syrinx::csm
