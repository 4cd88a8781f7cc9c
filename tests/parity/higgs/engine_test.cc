// The golden checkpoint through the whole engine: audio of the authors' serving code, the same
// samples alone and in a crowd, and text that arrives while speaking.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "runtime/small_load.h"

namespace syrinx::higgs {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/higgs/golden/" + name;
}

std::unique_ptr<Engine> engine(const EngineOptions& options = {}) {
  return golden_engine(golden("checkpoint"), options);
}

std::shared_ptr<const Voice> voice(int frames, int32_t code) {
  Voice voice{.family = "higgs_audio", .encoder = "given", .mode = "in-context", .text = "fine"};
  Tensor codes({frames, 8}, DType::kI32);
  std::fill_n(codes.i32(), frames * 8, code);
  voice.tensors.emplace("codes", std::move(codes));
  return std::make_shared<const Voice>(std::move(voice));
}

TEST(HiggsEngine, SpeaksAsTheOriginal) {
  const auto server = engine();
  const auto cases = nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20));
  const Safetensors file(golden("fox.safetensors"));
  SpeechRequest request;
  request.text = cases[0]["text"];
  request.temperature = 0.f;
  request.max_frames = cases[0]["keep_samples"];
  const std::vector<float> got = spoken(*server, request);
  const GoldenSamples want(file);
  ASSERT_EQ(std::ssize(got), want.count());
  EXPECT_LT(want.distance(got), 1e-5f);
}

TEST(HiggsEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.text = "Hello there, how are you?";
  request.seed = 5;
  request.max_frames = 40;
  request.ignore_stop = true;
  const std::vector<float> alone =
      expect_the_same_in_a_crowd(engine, request, 12, [](int i, SpeechRequest& other) {
        if (i % 3 != 0) other.text = "The fox number " + std::to_string(i), other.seed = i;
        if (i % 3 == 1) other.voice_data = voice(i + 1, i);
        if (i % 3 == 2) other.temperature = 0.3f, other.top_k = 5;
        return i % 3 != 0;
      });
  EXPECT_EQ(alone.size(), 40u * 960);
}

TEST(HiggsEngine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.temperature = 0.f;
  request.max_frames = 100;
  expect_late_text_sounds_the_same(
      *engine(), request,
      "<|emotion:sadness|>Hello there, it has been a long time since we have met. How are you?");
}

}  // namespace
}  // namespace syrinx::higgs
