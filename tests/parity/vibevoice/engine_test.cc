// Runs the golden checkpoints through the whole engine: audio of the authors' program, the same
// samples alone and among others, streamed or whole; texts at once or in pieces.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "families/vibevoice/fixture.h"
#include "runtime/small_load.h"

namespace syrinx::vibevoice {
namespace {

constexpr const char* kText = "Hello there, how are you? The quick brown fox jumps. Over it.";

class VibeVoiceEngine : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                                 WeightType weights = WeightType::kF32) const {
    const std::string dir = golden_path(std::string(GetParam()) + "/checkpoint");
    return std::make_unique<Engine>(load_as<vibevoice::VibeVoice>({dir, "tiny", weights}),
                                    unhurried(options));
  }
  static int64_t hop(const Engine& engine) {
    return static_cast<const VibeVoice&>(engine.pipeline()).config().vae.hop();
  }
};

TEST_P(VibeVoiceEngine, SpeaksAsTheOriginal) {
  const auto server = engine();
  const nlohmann::json all = cases_of(GetParam());
  ASSERT_GE(all["cases"].size(), 5u);
  int compared = 0;
  for (const auto& json : all["cases"]) {
    const auto sink = ask(*server, request_of(json));
    const FinishReason reason = sink->wait().reason;
    EXPECT_EQ(reason, json["ended"].get<bool>() ? FinishReason::kStop : FinishReason::kLength)
        << json["name"];
    const std::vector<float> got = sink->samples();
    EXPECT_EQ(std::ssize(got), json["frames"].get<int64_t>() * hop(*server)) << json["name"];
    const std::string name = std::string(GetParam()) + "/" + json["name"].get<std::string>();
    const Safetensors golden(golden_path(name + ".safetensors"));
    if (!golden.find("samples")) continue;
    const View want = golden.view("samples");
    ASSERT_GE(std::ssize(got), want.count());
    EXPECT_LT(relative(std::span(got).first(static_cast<size_t>(want.count())), floats(want)),
              1e-4f)
        << json["name"];
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

TEST_P(VibeVoiceEngine, SameSamplesAloneAndInACrowd) {
  for (const WeightType weights : {WeightType::kF32, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    SpeechRequest request;
    request.say.text = kText;
    request.sampling.seed = 5;
    request.terms.max_frames = 30;
    request.terms.ignore_stop = true;
    const std::vector<float> alone =
        expect_the_same_in_a_crowd(make, request, 12, [](int i, SpeechRequest& other) {
          if (i % 3 != 0)
            other.say.text = "The fox number " + std::to_string(i), other.sampling.seed = i;
          if (i % 3 == 1) other.voice.name = "ben", other.terms.max_frames = 10 + i;
          if (i % 3 == 2)
            other.sampling.guidance = 1.f, other.terms.initial_chunk_frames = 1 + i % 5;
          if (i == 3) other.terms.initial_chunk_frames = 7;
          if (i == 6) other.terms.offline = true;
          return i % 3 != 0;
        });
    EXPECT_GT(std::ssize(alone), 0);
  }
}

TEST_P(VibeVoiceEngine, LateTextSoundsTheSameHoweverItComes) {
  const auto server = engine();
  SpeechRequest request;
  request.sampling.seed = 2;
  request.terms.ignore_stop = true;
  request.terms.max_frames = 100;
  const std::string text = "We walked along the river and then, when it was dark, we went “home”. ";
  expect_late_text_sounds_the_same(*server, request, text);
  SpeechRequest whole = request;
  whole.say.text = text;
  EXPECT_EQ(std::ssize(spoken(*server, whole)), 100 * hop(*server));
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, VibeVoiceEngine, testing::Values("plain", "other"));

/// The model has 900 positions.
TEST(VibeVoiceParts, LongTextIsSpokenToItsEnd) {
  std::string text;
  for (int i = 0; i < 15; ++i) text += "The fox said hello there to the dog. ";
  SpeechRequest request;
  request.say.text = text;
  request.terms.ignore_stop = true;
  Engine engine(load_as<vibevoice::VibeVoice>({golden_path("other/checkpoint"), "tiny"}),
                unhurried({}));
  const auto sink = ask(engine, request);
  EXPECT_EQ(sink->wait().reason, FinishReason::kLength);
  EXPECT_GT(std::ssize(sink->samples()), 900 * 120);
}

}  // namespace
}  // namespace syrinx::vibevoice
