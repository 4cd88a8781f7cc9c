// Compares loudness with pyloudnorm (tests/parity/chatterbox_turbo/make_golden.py, chirp()).
#include "audio/loudness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace syrinx {
namespace {

/// Returns a second of silence, then a tone that rises and gets louder.
std::vector<float> chirp(int rate, double seconds) {
  std::vector<float> out;
  for (int i = 0; i < static_cast<int>(rate * seconds); ++i) {
    const double t = static_cast<double>(i) / rate;
    out.push_back(static_cast<float>(std::sin(2 * std::numbers::pi * (100 * t + 40 * t * t)) *
                                     std::max(0.0, t - 1) * 0.05));
  }
  return out;
}

TEST(Loudness, IsThatOfPyloudnorm) {
  EXPECT_NEAR(*loudness(chirp(24000, 5), 24000), -22.046617, 1e-4);
  EXPECT_NEAR(*loudness(chirp(16000, 8.13), 16000), -16.745226, 1e-4);
}

TEST(Loudness, SilenceAndShortSoundsHaveNone) {
  EXPECT_FALSE(loudness(chirp(24000, 0.9), 24000));
  EXPECT_FALSE(loudness(std::vector<float>(9599, 0.5f), 24000));
  EXPECT_TRUE(loudness(std::vector<float>(9600, 0.5f), 24000));
  std::vector<float> silence(24000, 0.f);
  bring_to_loudness(silence, 24000, -27);
  EXPECT_EQ(silence, std::vector<float>(24000, 0.f));
}

TEST(Loudness, SoundsAreBroughtToIt) {
  std::vector<float> sound = chirp(24000, 5);
  bring_to_loudness(sound, 24000, -27);
  EXPECT_NEAR(*loudness(sound, 24000), -27, 1e-5);
}

}  // namespace
}  // namespace syrinx
