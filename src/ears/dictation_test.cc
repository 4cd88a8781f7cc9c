#include <gtest/gtest.h>

#include <cmath>

#include "ears/dictation_recogniser.h"
#include "ears/ears.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

TEST(DictationRecogniser, StretchesEndWhereItIsQuietest) {
  constexpr size_t kMost = 10 * kHearingRate, kPause = 8 * kHearingRate;
  std::vector<float> samples(12 * kHearingRate);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = 0.3f * std::sin(0.1f * i);
  std::fill_n(samples.begin() + kPause, kHearingRate / 5, 0.f);
  EXPECT_NEAR(static_cast<double>(quietest_cut(samples, kMost)), kPause + kHearingRate / 10., 16);
  // A pause before the last third is too early, however quiet, and what fits needs no cut.
  std::fill_n(samples.begin() + kPause, kHearingRate / 5, 0.01f);
  std::fill_n(samples.begin() + kHearingRate, kHearingRate, 0.f);
  EXPECT_GT(quietest_cut(samples, kMost), kPause);
  EXPECT_EQ(quietest_cut(std::span(samples).first(500), kMost), 500u);
  EXPECT_LE(quietest_cut(samples, kMost), kMost);
  EXPECT_EQ(quietest_cut(samples, 100), 100u);
}

TEST(DictationRecogniser, IsOfModelsThatWriteRecordingsDown) {
  const auto engine = std::make_shared<Engine>(make_toy_pipeline());
  EXPECT_EQ(dictation_recogniser(engine), nullptr);
  EXPECT_EQ(recogniser_of(engine), nullptr);
  EXPECT_EQ(engine->pipeline().dictation({}).error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace syrinx
