// Tests a small Kokoro checkpoint through the engine: the samples of the authors' code, the same
// bits alone and among others, text that arrives late, times of words, limits.
#include <gtest/gtest.h>

#include <cmath>

#include "engine/testing/listening.h"
#include "families/kokoro/pipeline.h"
#include "runtime/small_load.h"

namespace syrinx::kokoro {
namespace {

constexpr size_t kHop = 600;

std::unique_ptr<Engine> engine(const EngineOptions& options = {},
                               WeightType weights = WeightType::kF32) {
  const std::string dir = SYRINX_BINARY_DIR "/parity/kokoro/golden/published/checkpoint";
  return std::make_unique<Engine>(kokoro::load({dir, "tiny", weights}), unhurried(options));
}

SpeechRequest say(const std::string& text) {
  SpeechRequest request;
  request.say.text = text;
  request.voice.name = "af_owl";
  request.sampling.seed = 5;
  return request;
}

TEST(KokoroEngine, SameSamplesAloneAndInACrowd) {
  for (const WeightType weights : {WeightType::kF32, WeightType::kQ8}) {
    const auto make = [&](const EngineOptions& options) { return engine(options, weights); };
    const std::vector<float> alone = expect_the_same_in_a_crowd(
        make, say("Hello there. How are you today?"), 9, [](int i, SpeechRequest& other) {
          if (i % 3 == 0) return false;
          other.say.text = "The fox number " + std::to_string(i) + " jumps.";
          other.voice.name = i % 2 ? "bm_rook" : "af_owl";
          other.say.language = "en-us";
          other.voice.speed = i % 2 ? 1.5f : 0.8f;
          other.sampling.seed = static_cast<uint64_t>(i);
          return true;
        });
    EXPECT_EQ(alone.size() % kHop, 0u);
    for (const float sample : alone) ASSERT_TRUE(std::isfinite(sample));
  }
}

TEST(KokoroEngine, LateTextGivesTheSamplesOfTheWhole) {
  const std::string text = "Hello there. How are you today? The fox jumps.";
  const auto server = engine();
  const std::vector<float> whole = spoken(*server, say(text));
  SpeechRequest late = say("");
  late.say.open = true;
  auto sink = std::make_shared<Reader>();
  const auto id = server->submit(late, sink);
  ASSERT_TRUE(id.ok()) << id.error().message;
  for (size_t at = 0; at < text.size(); at += 7) {
    server->append_text(id.value(), text.substr(at, 7), false);
  }
  server->append_text(id.value(), "", true);
  sink->wait();
  EXPECT_EQ(sink->samples(), whole);
}

TEST(KokoroEngine, SpeedVoicesMixesAndSeedsAreHeard) {
  const auto server = engine();
  const std::vector<float> plain = spoken(*server, say("Hello there."));
  SpeechRequest request = say("Hello there.");
  request.sampling.seed = 6;
  EXPECT_NE(spoken(*server, request), plain);
  EXPECT_EQ(spoken(*server, request).size(), plain.size());
  request = say("Hello there.");
  request.voice.speed = 2;
  EXPECT_LT(spoken(*server, request).size(), plain.size() * 3 / 4);
  request = say("Hello there.");
  request.voice.name = "";
  request.voice.mix = {{"af_owl", nullptr, 1.f}, {"bm_rook", nullptr, 1.f}};
  EXPECT_NE(spoken(*server, request), plain);
}

TEST(KokoroEngine, AMostOfFramesIsKept) {
  const auto server = engine();
  SpeechRequest request = say("Hello there. How are you today?");
  request.terms.max_frames = 70;
  EXPECT_EQ(spoken(*server, request).size(), 70 * kHop);
  request.terms.max_frames = 900;
  request.terms.ignore_stop = true;
  EXPECT_EQ(spoken(*server, request).size(), 900 * kHop);
}

/// A sink that also keeps the times of words.
class Marked : public Reader {
 public:
  void words(std::span<const WordMark> marks) override {
    marks_.insert(marks_.end(), marks.begin(), marks.end());
  }
  std::vector<WordMark> marks_;  // read it only after the end of the request
};

TEST(KokoroEngine, WordsHaveRisingTimes) {
  const auto server = engine();
  const std::string text = "Hello there. How are you today?";
  const auto sink = std::make_shared<Marked>();
  ASSERT_TRUE(server->submit(say(text), sink).ok());
  sink->wait();
  const auto& words = sink->marks_;
  ASSERT_EQ(words.size(), 6u);
  EXPECT_EQ(text.substr(static_cast<size_t>(words[3].begin),
                        static_cast<size_t>(words[3].end - words[3].begin)),
            "are");
  for (size_t i = 1; i < words.size(); ++i) EXPECT_GT(words[i].frame, words[i - 1].frame);
  EXPECT_LT(static_cast<size_t>(words.back().frame) * kHop, sink->samples().size());
}

}  // namespace
}  // namespace syrinx::kokoro
