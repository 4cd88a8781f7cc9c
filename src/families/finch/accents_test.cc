// Tests that accents change the audio.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "families/finch/config.h"
#include "families/finch/driver_test.h"

namespace syrinx::finch {
namespace {

/// The 80th percentiles of pitch (Hz) and loudness (dB) of the voiced frames in a range of samples,
/// and the number of these frames.
struct Voiced {
  double pitch = 0, decibels = 0;
  int64_t frames = 0;
};

/// Measures a range of samples by autocorrelation, in windows of 40 ms.
Voiced voiced(const std::vector<float>& samples, int64_t first, int64_t end) {
  const int rate = voice()->info().speech.sample_rate, frame = rate / 25;
  std::vector<double> pitches, powers;
  for (int64_t at = first * frame; at + frame <= end * frame; at += frame / 4) {
    const auto sum = [&](int lag) {
      double all = 0;
      for (int i = 0; i + lag < frame; ++i) all += samples[at + i] * samples[at + i + lag];
      return all / (frame - lag);
    };
    const double power = sum(0);
    int best = 0;
    for (int lag = rate / 400; lag < rate / 90; ++lag) {
      if (best == 0 || sum(lag) > sum(best)) best = lag;
    }
    if (power < 1e-4 || sum(best) < 0.6 * power) continue;
    pitches.push_back(static_cast<double>(rate) / best);
    powers.push_back(power);
  }
  if (pitches.empty()) return {};
  std::sort(pitches.begin(), pitches.end());
  std::sort(powers.begin(), powers.end());
  const size_t fifth = pitches.size() * 4 / 5;
  return {pitches[fifth], 10 * std::log10(powers[fifth]), end - first};
}

/// Speaks a text and measures its word with the index `word`.
Voiced word_of(const std::string& text, size_t word) {
  const Spoken spoken = speak(greedy(text));
  const std::vector<float> samples = decode(spoken.frames, {1000});
  return voiced(samples, spoken.words.at(word).frame, spoken.words.at(word + 1).frame);
}

/// In the shipped voice, a word with an accent is 1.25 to 4 semitones higher, longer, and louder by
/// two dB on average.
TEST(Finch, AnAccentIsHeard) {
  struct Case {
    const char *plain, *strong;
    size_t word;
  };
  std::vector<double> gains;
  for (const Case& one : {Case{"I want the blue car today.", "I want the *blue* car today.", 3},
                          Case{"The woman came home.", "The WOMAN came home.", 1},
                          Case{"We never said that again.", "We *never* said that again.", 1}}) {
    const Voiced plain = word_of(one.plain, one.word), strong = word_of(one.strong, one.word);
    const double semitones = 12 * std::log2(strong.pitch / plain.pitch);
    const double louder = strong.decibels - plain.decibels;
    const std::string what = concat(one.strong, ": ", semitones, " semitones, ", louder, " dB, ",
                                    plain.frames, " to ", strong.frames, " frames");
    EXPECT_GT(semitones, 1.5) << what;
    EXPECT_LT(semitones, 4) << what;
    EXPECT_GT(louder, 0) << what;
    EXPECT_GT(strong.frames, plain.frames) << what;
    gains.push_back(louder);
  }
  EXPECT_GT(std::accumulate(gains.begin(), gains.end(), 0.0), 2 * std::ssize(gains));
}

TEST(Finch, AccentsStreamWithoutSeams) {
  const std::string text = "I want *this* one, not THAT one.";
  const Spoken spoken = speak(greedy(text));
  const auto whole = decode(spoken.frames, {1000});
  EXPECT_EQ(whole, decode(spoken.frames, {1}));
  EXPECT_EQ(whole, decode(spoken.frames, {1, 6}));
  EXPECT_EQ(whole, decode(spoken.frames, {3, 2, 7}));
  int highest = 0, before = 0;
  for (size_t i = kFrameCodes; i < spoken.frames.size(); i += kFrameWidth) {
    EXPECT_LE(std::abs(spoken.frames[i] - before), 150) << "it jumps";
    before = spoken.frames[i];
    highest = std::max(highest, before);
  }
  EXPECT_GT(highest, 250);
  EXPECT_EQ(before, 0) << "it does not end";
  // The raised pitch does not continue into the next sentence.
  const std::vector<int32_t> two = speak(greedy("Do it NOW. Yes.")).frames;
  for (size_t i = 0; i < two.size(); i += kFrameWidth) {
    if (two[i + kBooks + 1] != 0) continue;  // checks only frames of a sentence's first symbol
    EXPECT_EQ(two[i + kFrameCodes], 0) << i / kFrameWidth;
  }
}

}  // namespace
}  // namespace syrinx::finch
