// The golden checkpoint through the whole engine: audio of the original implementation, the same
// samples alone and in a crowd, and text that arrives while speaking.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/collector.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "runtime/runtime.h"

namespace syrinx {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/fish_speech/golden/" + name;
}

std::unique_ptr<Engine> engine(EngineOptions options = {}) {
  LoadOptions load;
  load.model = golden("checkpoint");
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

TEST(FishSpeechEngine, SpeaksAsTheOriginal) {
  const auto server = engine();
  const auto cases = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20));
  const Safetensors file(golden("fox.safetensors"));
  SpeechRequest request;
  request.text = cases[0]["text"];
  request.temperature = 0.f;
  request.max_frames = cases[0]["keep_samples"];
  const std::vector<float> got = speak(*server, request);
  const View want = file.view("samples");
  ASSERT_EQ(static_cast<int64_t>(got.size()), want.count());
  for (int64_t i = 0; i < want.count(); ++i)
    ASSERT_NEAR(got[i], want.f32()[i], 1e-4f) << "sample " << i;
}

TEST(FishSpeechEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.ignore_stop = true;
  const std::vector<float> alone = speak(*engine(), request);
  EXPECT_FALSE(alone.empty());

  EngineOptions crowded;
  crowded.max_batch = 6;  // fewer than requests: sequences come and go
  const auto server = engine(crowded);
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
    if (i % 3 != 0) continue;
    EXPECT_TRUE(sinks[i]->samples() == alone) << "request " << i;
  }
}

TEST(FishSpeechEngine, LateTextSoundsTheSameHoweverItComes) {
  const auto server = engine();
  const std::string text = "<|speaker:1|>hello there. How are you? I'm fine.";
  const auto spoken = [&](size_t piece) {
    SpeechRequest request;
    request.temperature = 0.f;
    request.text_open = true;
    request.max_frames = 300;
    auto sink = std::make_shared<Collector>();
    const auto id = server->submit(request, sink);
    EXPECT_TRUE(id.ok());
    for (size_t at = 0; at < text.size(); at += piece)
      server->append_text(id.value(), text.substr(at, piece), at + piece >= text.size());
    EXPECT_NE(sink->wait().reason, FinishReason::kError) << sink->wait().error.message;
    return sink->samples();
  };
  const std::vector<float> whole = spoken(text.size());
  EXPECT_FALSE(whole.empty());
  EXPECT_TRUE(spoken(3) == whole);
}

}  // namespace
}  // namespace syrinx
