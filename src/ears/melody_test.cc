#include "ears/melody.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "ears/recogniser.h"
#include "ears/speech_fixture.h"

namespace syrinx {
namespace {

constexpr size_t kTenMs = kHearingRate / 100;

void hear_all(Melody& melody, const std::vector<float>& samples) {
  std::vector<int16_t> frame(kTenMs);
  for (size_t at = 0; at + kTenMs <= samples.size(); at += kTenMs) {
    std::transform(samples.begin() + at, samples.begin() + at + kTenMs, frame.begin(),
                   [](float x) { return static_cast<int16_t>(x * 30000.f); });
    melody.hear(frame);
  }
}

/// Returns a sound with half a second of each pitch (in Hz), with three harmonics.
std::vector<float> hum(std::initializer_list<double> pitches) {
  std::vector<float> out;
  double phase = 0;
  for (const double pitch : pitches) {
    for (int i = 0; i < kHearingRate / 2; ++i) {
      phase += 2 * std::numbers::pi * pitch / kHearingRate;
      out.push_back(static_cast<float>(0.3 * std::sin(phase) + 0.2 * std::sin(2 * phase) +
                                       0.1 * std::sin(3 * phase)));
    }
  }
  return out;
}

double moved(const std::vector<float>& samples) {
  Melody melody;
  hear_all(melody, samples);
  return melody.ending().value_or(99);
}

TEST(Melody, ReportsHowFarThePitchMoved) {
  for (const double from : {80., 120., 200., 300.}) {
    EXPECT_NEAR(moved(hum({from, from})), 0, 0.05) << from;
    EXPECT_NEAR(moved(hum({from, from, from * 0.84})), 12 * std::log2(0.84), 0.2) << from;
    EXPECT_NEAR(moved(hum({from, from, from * 1.19})), 12 * std::log2(1.19), 0.2) << from;
  }
  Melody melody;
  hear_all(melody, hum({120, 120, 100}));
  EXPECT_TRUE(melody.fell());
  melody.reset();
  EXPECT_FALSE(melody.fell());
  EXPECT_FALSE(melody.ending());
}

TEST(Melody, NoiseAndSilenceHaveNone) {
  std::vector<float> noise(kHearingRate);
  uint32_t state = 1;
  for (float& x : noise) {
    state = state * 1664525 + 1013904223;
    x = static_cast<float>(static_cast<int32_t>(state)) / 2147483648.f;
  }
  EXPECT_EQ(moved(noise), 99);
  EXPECT_EQ(moved(std::vector<float>(kHearingRate)), 99);
}

TEST(Melody, StatementsFallAndQuestionsDoNot) {
  constexpr const char* kSpeaker = "curlew";  // its statements end low, its questions high
  for (const char* text : {"I would like a cup of tea.", "She lives in London.",
                           "We went to the market yesterday.", "The weather is nice today."}) {
    Melody melody;
    hear_all(melody, spoken(text, kSpeaker));
    EXPECT_TRUE(melody.fell()) << text << melody.ending().value_or(99);
  }
  for (const char* text : {"Would you like a cup of tea?", "Is she living in London?",
                           "Did you go to the market yesterday?", "Is the weather nice today?"}) {
    Melody melody;
    hear_all(melody, spoken(text, kSpeaker));
    EXPECT_FALSE(melody.fell()) << text;
    EXPECT_GT(melody.ending().value_or(-99), 0.5) << text;
  }
}

}  // namespace
}  // namespace syrinx
