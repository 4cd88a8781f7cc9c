#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "base/cpu_features.h"
#include "families/finch/source_loops.h"

namespace syrinx::finch {
namespace {

std::vector<float> random_floats(size_t count, std::mt19937& rng) {
  std::normal_distribution<float> normal;
  std::vector<float> x(count);
  for (float& v : x) v = normal(rng);
  return x;
}

PulseTurns random_pulses(int count, std::mt19937& rng) {
  std::uniform_real_distribution<double> any(0, 6.28);
  PulseTurns pulses;
  pulses.count = count;
  for (int p = 0; p < count; ++p) {
    const double angle = any(rng);
    pulses.re[p] = any(rng);
    pulses.cos[p] = std::cos(angle);
    pulses.sin[p] = -std::sin(angle);
  }
  return pulses;
}

TEST(SourceLoops, PulsesAreASumOfTurns) {
  PulseTurns pulses;
  pulses.count = 2;
  // This pulse is rotated back by a quarter turn for each bin.
  pulses.re[0] = 2, pulses.cos[0] = 0, pulses.sin[0] = -1;
  pulses.re[1] = 1, pulses.cos[1] = -1;  // rotated by half a turn for each bin
  float spectrum[8];
  ref::pulse_spectrum(pulses, 4, spectrum);
  const float want[8] = {3, 0, -1, -2, -1, 0, -1, 2};
  for (int i = 0; i < 8; ++i) EXPECT_EQ(spectrum[i], want[i]) << i;
}

#if defined(__x86_64__) || defined(__aarch64__)
TEST(SourceLoops, TonesOfVectorsAreThePlainOnes) {
#if defined(__x86_64__)
  if (!cpu_features().avx2) GTEST_SKIP() << "no AVX2";
#endif
  std::mt19937 rng(2);
  for (const int bins : {385, 257, 8, 7, 1}) {
    const auto all = static_cast<size_t>(bins);
    std::vector<float> head = random_floats(3 * all, rng);
    for (int k = 0; k < bins; ++k) head[all + k] *= 20;  // phases of more than one turn
    head[0] = 9;                                         // a gain above the limit
    std::vector<float> want(3 * all), got = want;
    ref::tones(head.data(), bins, want.data(), want.data() + 2 * all);
    simd::tones(head.data(), bins, got.data(), got.data() + 2 * all);
    for (size_t k = 0; k < all; ++k) {
      const float loud = std::exp(std::min(head[k], kMaxGain));
      EXPECT_NEAR(got[2 * k], want[2 * k], 1e-6f * loud) << bins << " " << k;
      EXPECT_NEAR(got[2 * k + 1], want[2 * k + 1], 1e-6f * loud) << bins << " " << k;
      EXPECT_NEAR(got[2 * all + k], want[2 * all + k], 1e-6f * want[2 * all + k]) << bins;
    }
  }
}

/// The expected hash comes from AVX2. NEON must yield the same bits.
TEST(SourceLoops, TonesOfVectorsHaveTheSameBitsOnEveryProcessor) {
#if defined(__x86_64__)
  if (!cpu_features().avx2) GTEST_SKIP() << "no AVX2";
#endif
  uint64_t sum = 14695981039346656037u;  // start of an FNV-1a hash
  uint32_t seed = 1;
  for (const size_t bins : {385, 257, 7}) {
    std::vector<float> head(3 * bins), out(3 * bins);
    for (float& x : head) {
      seed = seed * 1664525u + 1013904223u;
      x = static_cast<float>(static_cast<int32_t>(seed) >> 8) * 4.76837158e-7f;  // within [-4, 4)
    }
    for (size_t k = 0; k < bins; ++k) head[bins + k] *= 20;
    simd::tones(head.data(), static_cast<int>(bins), out.data(), out.data() + 2 * bins);
    for (const float x : out) sum = (sum ^ std::bit_cast<uint32_t>(x)) * 1099511628211u;
  }
  EXPECT_EQ(sum, 0x5080079123613e8du);
}

TEST(SourceLoops, WhatIsBrokenStaysSo) {
#if defined(__x86_64__)
  if (!cpu_features().avx2) GTEST_SKIP() << "no AVX2";
#endif
  const float head[3] = {NAN, 0, NAN};
  float tone[2], hiss;
  simd::tones(head, 1, tone, &hiss);
  EXPECT_TRUE(std::isnan(tone[0]) && std::isnan(tone[1]) && std::isnan(hiss));
  // A huge phase does not make the tone louder.
  const float turned[3] = {0, 1e30f, 0};
  simd::tones(turned, 1, tone, &hiss);
  EXPECT_LE(std::hypot(tone[0], tone[1]), 1.01f);
}
#endif

#if defined(__x86_64__)
TEST(SourceLoops, HaveTheSameBitsOnEveryProcessor) {
  if (!cpu_features().avx2) GTEST_SKIP() << "no AVX2";
  std::mt19937 rng(1);
  for (const int bins : {257, 385, 6, 1}) {
    for (int count = 0; count <= PulseTurns::kMost; ++count) {
      PulseTurns pulses = random_pulses(count, rng), again = pulses;
      std::vector<float> want(2 * static_cast<size_t>(bins) + 8, 7.f), got = want;
      ref::pulse_spectrum(pulses, bins, want.data());
      avx2::pulse_spectrum(again, bins, got.data());
      ASSERT_EQ(std::memcmp(want.data(), got.data(), want.size() * 4), 0) << bins << " " << count;
      const std::vector<float> tone = random_floats(2 * static_cast<size_t>(bins), rng);
      const std::vector<float> hiss = random_floats(static_cast<size_t>(bins), rng);
      ShapedBins shaped{
          static_cast<uint32_t>(count * 54321), 0, bins, tone.data(), hiss.data(), want.data()};
      ref::shape(shaped);
      shaped.spectrum = got.data();
      avx2::shape(shaped);
      ASSERT_EQ(std::memcmp(want.data(), got.data(), want.size() * 4), 0) << bins << " " << count;
    }
  }
}
#endif

}  // namespace
}  // namespace syrinx::finch
