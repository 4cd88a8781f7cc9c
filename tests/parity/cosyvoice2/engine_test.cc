// Runs the golden checkpoint through the whole engine: the samples of the authors' code in its
// streaming mode, and the same samples alone, among others, and with other first chunks.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/testing/listening.h"
#include "io/file.h"
#include "io/golden_samples.h"
#include "io/safetensors.h"
#include "runtime/small_load.h"

namespace syrinx::cosyvoice2 {
namespace {

std::string golden(const std::string& name) {
  return SYRINX_BINARY_DIR "/parity/cosyvoice2/golden/" + name;
}

std::unique_ptr<Engine> engine(const std::string& weights = "f32", int max_batch = 8) {
  return golden_engine(golden("checkpoint"), {.max_batch = max_batch}, weights);
}

// Compares with the authors' cli/model.py from the text to the samples, offline, with the model's
// own limits of length: a speech of 4 s that ends by itself, and one of 17.6 s.
TEST(CosyVoice2Engine, SpeaksAsTheAuthorsOfflineCalls) {
  const auto server = engine();
  const Safetensors golden_file(golden("cli.safetensors"));
  for (const auto& c : nlohmann::json::parse(read_file(golden("cases.json"), 1 << 20))) {
    const std::string name = c["name"];
    if (!golden_file.find(name + ".samples")) continue;
    SpeechRequest request;
    request.say.text = c["text"];
    request.voice.name = c["voice"];
    request.say.spell_numbers = false;  // as the goldens were made
    request.sampling.temperature = 0.f;
    request.sampling.seed = 7;
    request.terms.flow = FlowMode::kFull;
    const std::vector<float> got = spoken(*server, request);
    const GoldenSamples want(golden_file, name + ".samples");
    ASSERT_EQ(std::ssize(got), want.count()) << name;
    // Errors of the pitch add up in the phases of harmonics, so the difference grows with the
    // length of the speech.
    EXPECT_LT(want.distance(got), name == "ends" ? 1e-4f : 5e-4f) << name;
    RecordProperty(name, std::to_string(want.distance(got) * 1e6) + "e-6");
  }
}

TEST(CosyVoice2Engine, SameSamplesHoweverServed) {
  SpeechRequest request;
  request.say.text =
      "The quick brown fox. " + std::string("Hello there, how are you? The lazy dog said: ") +
      "one, two, three! And then the fox jumps over the lazy dog again and again. Stop!";
  request.voice.name = "fox";
  request.sampling.seed = 5;
  request.terms.max_frames = 140;
  // A batch has fewer entries than there are requests.
  const auto make = [](const EngineOptions&) { return engine("f32", 3); };
  expect_the_same_in_a_crowd(make, request, 9, [](int i, SpeechRequest& other) {
    if (i % 3 == 1) other.voice.name = "owl", other.say.text = "Hello number " + std::to_string(i);
    if (i % 3 == 2)
      other.voice.name = "plain", other.sampling.temperature = 0.5f, other.terms.max_frames = 7 + i;
    other.terms.initial_chunk_frames = i;
    return i % 3 != 0;
  });
}

TEST(CosyVoice2Engine, SeedsAndNarrowWeightsSpeak) {
  SpeechRequest request;
  request.say.text = "Hello there, how are you?";
  request.voice.name = "owl";
  request.terms.max_frames = 30;
  request.terms.ignore_stop = true;
  const auto server = engine("q8");
  request.sampling.seed = 1;
  const std::vector<float> first = spoken(*server, request);
  EXPECT_EQ(first.size(), size_t{30 * 960});
  EXPECT_TRUE(spoken(*server, request) == first);
  request.sampling.seed = 2;
  EXPECT_FALSE(spoken(*server, request) == first);
}

}  // namespace
}  // namespace syrinx::cosyvoice2
