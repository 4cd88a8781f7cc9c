// The golden checkpoint through the whole engine: audio of the original implementation, the same
// samples alone and in a crowd, and text that arrives while speaking.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "io/file.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"

namespace syrinx::fish_speech {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/fish_speech/golden/" + name;
}

std::unique_ptr<Engine> engine(const EngineOptions& options = {}) {
  return golden_engine(golden("checkpoint"), options);
}

TEST(FishSpeechEngine, SpeaksAsTheOriginal) {
  const auto server = engine();
  const auto cases = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20));
  const Safetensors file(golden("fox.safetensors"));
  SpeechRequest request;
  request.text = cases[0]["text"];
  request.temperature = 0.f;
  request.max_frames = cases[0]["keep_samples"];
  const std::vector<float> got = spoken(*server, request);
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
  const size_t codebooks = engine()->pipeline().graph().ar().traits().vocab.size();
  expect_the_same_in_a_crowd(engine, request, 12, [&](int i, SpeechRequest& other) {
    if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
    if (i % 3 == 1) other.context = {{"1", "fine", std::vector<int32_t>(codebooks * (i + 1), i)}};
    if (i % 3 == 2) other.temperature = 0.3f, other.top_k = 5, other.voice = "7";
    return i % 3 != 0;
  });
}

TEST(FishSpeechEngine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.temperature = 0.f;
  request.max_frames = 300;
  expect_late_text_sounds_the_same(*engine(), request,
                                   "<|speaker:1|>hello there. How are you? I'm fine.");
}

}  // namespace
}  // namespace syrinx::fish_speech
