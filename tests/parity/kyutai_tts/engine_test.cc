// Golden checkpoints through the whole engine: the frames of the original, the same samples alone
// and in a crowd, late text, times of words.
#include "engine/testing/listening.h"
#include "families/kyutai_tts/fixture.h"
#include "runtime/small_load.h"

namespace syrinx::kyutai_tts {
namespace {

std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                               WeightType weights = WeightType::kF32) {
  const LoadSpec spec{golden_path("small/checkpoint"), "tiny", weights};
  return std::make_unique<Engine>(load_as<KyutaiTts>(spec), unhurried(options));
}

TEST(KyutaiTtsEngine, SpeaksAsTheOriginalWithTimesOfWords) {
  const auto server = engine();
  for (const auto& c : cases_of("small")) {
    const auto sink = answered(*server, request_of(c));
    const Safetensors want(golden_path("small/" + c["name"].get<std::string>() + ".safetensors"));
    EXPECT_EQ(std::ssize(sink->samples()), want.view("frames").shape[0] * 1920);
    const auto& words = sink->wait().words;
    ASSERT_EQ(words.size(), c["words"].size());
    for (size_t i = 0; i < words.size(); ++i)
      EXPECT_EQ(words[i].frame, c["words"][i][1].get<int64_t>());
  }
}

TEST(KyutaiTtsEngine, SameSamplesAloneAndInACrowd) {
  SpeechRequest request;
  request.say.text = "a bad cab faced a bead";
  request.sampling.seed = 5;
  for (const WeightType weights : {WeightType::kF32, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    expect_the_same_in_a_crowd(make, request, 9, [](int i, SpeechRequest& other) {
      if (i % 3 == 0) return false;
      other.say.text = "faced a bee";
      other.voice.name = i % 3 == 1 ? "ben.wav" : "anna.wav";
      other.sampling.seed = static_cast<uint64_t>(i);
      return true;
    });
  }
}

TEST(KyutaiTtsEngine, LateTextSoundsTheSameHoweverItComes) {
  SpeechRequest request;
  request.sampling.seed = 3;
  expect_late_text_sounds_the_same(*engine(), request, "a bad cab faced a bead, abbé's dad fed it");
}

}  // namespace
}  // namespace syrinx::kyutai_tts
