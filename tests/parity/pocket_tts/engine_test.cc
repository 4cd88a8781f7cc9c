// Runs the golden checkpoints through the whole engine: audio of the authors' program, the same
// samples alone and among others, streamed or whole; texts in chunks, at once or in pieces; voices
// of files and of recordings.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "families/pocket_tts/fixture.h"
#include "runtime/small_load.h"

namespace syrinx::pocket_tts {
namespace {

constexpr int64_t kHop = 1920;
constexpr const char* kText = "Hello there, how are you? The quick brown fox jumps. Over it.";

class PocketEngine : public testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                                 WeightType weights = WeightType::kF32) const {
    const std::string dir = golden_path(std::string(GetParam()) + "/checkpoint");
    return std::make_unique<Engine>(load_as<pocket_tts::PocketTts>({dir, "tiny", weights}),
                                    unhurried(options));
  }
};

TEST_P(PocketEngine, SpeaksAsTheOriginal) {
  const auto server = engine();
  const nlohmann::json all = cases_of(GetParam());
  ASSERT_GE(all["cases"].size(), 5u);
  int compared = 0;
  for (const auto& json : all["cases"]) {
    const auto sink = ask(*server, request_of(json));
    const FinishReason reason = sink->wait().reason;
    EXPECT_TRUE(reason == FinishReason::kStop || reason == FinishReason::kLength) << json["name"];
    if (json["name"] == "brief") {
      EXPECT_EQ(reason, FinishReason::kStop);
    }
    const std::vector<float> got = sink->samples();
    EXPECT_EQ(std::ssize(got), json["frames"].get<int64_t>() * kHop) << json["name"];
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

TEST_P(PocketEngine, SameSamplesAloneAndInACrowd) {
  for (const WeightType weights : {WeightType::kF32, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    SpeechRequest request;
    request.say.text = kText;
    request.sampling.seed = 5;
    const std::vector<float> alone =
        expect_the_same_in_a_crowd(make, request, 12, [](int i, SpeechRequest& other) {
          if (i % 3 != 0)
            other.say.text = "The fox number " + std::to_string(i), other.sampling.seed = i;
          if (i % 3 == 1) other.voice.name = "default", other.terms.max_frames = 10 + i;
          if (i % 3 == 2)
            other.sampling.temperature = 1.f, other.terms.initial_chunk_frames = 1 + i % 5;
          if (i == 3) other.terms.initial_chunk_frames = 7;
          if (i == 6) other.terms.offline = true;
          return i % 3 != 0;
        });
    EXPECT_EQ(std::ssize(alone) % kHop, 0);
  }
}

TEST_P(PocketEngine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.sampling.seed = 2;
  expect_late_text_sounds_the_same(
      *engine(), request,
      "The first sentence is long enough to stand by itself, and it does. How are you? And this is "
      "another one that is long enough for that.");
}

TEST_P(PocketEngine, ARecordingIsAVoice) {
  const auto server = engine();
  SpeechRequest file, recording, other;
  for (SpeechRequest* each : {&file, &recording, &other}) {
    each->say.text = "Hello there.";
    each->sampling.seed = 3;
    each->terms.max_frames = 6;
    each->terms.ignore_stop = true;
  }
  recording.voice.data = encode(*server->pipeline().voice_encoder(), speech());
  other.voice.name = "default";
  const std::vector<float> of_file = spoken(*server, file);
  EXPECT_LT(relative(spoken(*server, recording), of_file), 1e-3f)
      << "the file was made of this recording";
  EXPECT_GT(relative(spoken(*server, other), of_file), 0.1f);
}

TEST_P(PocketEngine, AMostOfFramesIsKept) {
  SpeechRequest request;
  request.say.text = kText;
  request.terms.ignore_stop = true;
  request.terms.max_frames = 33;
  const auto server = engine();
  EXPECT_EQ(std::ssize(spoken(*server, request)), 33 * kHop);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, PocketEngine, testing::Values("distilled", "small"));

}  // namespace
}  // namespace syrinx::pocket_tts
