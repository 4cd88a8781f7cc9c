// Tests the bounds of the filters of sampling: top-k, top-p, min-p, ranges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "kernels/fixture.h"
#include "kernels/sample.h"
#include "kernels/sample_chances.h"
#include "kernels/sample_draws_test.h"
#include "kernels/sample_impl.h"

namespace syrinx {
namespace {

using draws::drawn;
using draws::one;
using fixture::Bench;

TEST(Sample, MinPMayComeFirst) {
  Tensor logits({1, 5}, DType::kF32);
  const double mass[] = {0.4, 0.2, 0.15, 0.15, 0.1};
  for (int i = 0; i < 5; ++i) logits.f32()[i] = static_cast<float>(std::log(mass[i]));
  SampleRow row;
  row.params.min_p = 0.3f;  // keeps the first four ids, with 0.9 of the mass
  row.params.top_p = 0.7f;  // keeps 3 of the 4 ids: 0.75 / 0.9 of the mass; 2 have 0.6 / 0.9
  row.seed = 1;
  const auto drawn = [&](bool first) {
    row.params.min_p_first = first;
    std::map<int32_t, int> seen;
    for (row.step = 0; row.step < 4000; ++row.step) ++seen[one(Device::kCpu, logits, row)];
    return seen;
  };
  std::map<int32_t, int> seen = drawn(true);
  ASSERT_EQ(seen.size(), 3u);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(seen[i] / 4000.0, mass[i] / 0.75, 0.04) << i;
  // top-p 0.6 keeps two ids: they have 0.6 / 0.9 of the mass of the first four
  row.params.top_p = 0.6f;
  EXPECT_EQ(drawn(true).size(), 2u);
  row.params.top_p = 1;
  EXPECT_EQ(drawn(true).size(), 4u);
}

/// Top-k keeps exactly the k best ids of a vocabulary that is scanned in pieces. Each piece raises
/// the threshold.
TEST(Sample, TopKKeepsTheBestOfAllPieces) {
  constexpr int kVocabulary = 6000;
  for (const unsigned seed : {1, 2, 3}) {
    const Tensor logits = fixture::random({1, kVocabulary}, seed);
    std::vector<float> sorted(logits.f32(), logits.f32() + kVocabulary);
    std::sort(sorted.rbegin(), sorted.rend());
    for (const int k : {1, 2, 9, 100, 300, 1000, 5999}) {
      SampleRow row;
      row.params.top_k = k;
      const std::vector<double> chances = sample_chances({logits.f32(), kVocabulary}, row);
      for (int id = 0; id < kVocabulary; ++id) {
        ASSERT_EQ(chances[static_cast<size_t>(id)] > 0, logits.f32()[id] >= sorted[k - 1])
            << "id " << id << " of the " << k << " best, seed " << seed;
      }
    }
  }
}

/// After a piece, the threshold is its k-th best logit. A later, slightly larger logit is kept.
TEST(Sample, TopKLetsInWhatIsJustBetterThanTheLast) {
  constexpr int kPiece = 1024, kBest = 300, kLast = kPiece - kBest;
  std::mt19937 engine(1);
  std::vector<float> logits(kPiece);
  std::iota(logits.begin(), logits.end(), 0.0f);
  SampleRow row;
  row.params.temperature = 100;
  row.params.top_k = kBest;
  for (int round = 0; round < 60; ++round) {
    logits.resize(kPiece);
    std::shuffle(logits.begin(), logits.end(), engine);
    const auto last = std::find(logits.begin(), logits.end(), kLast) - logits.begin();
    logits.push_back(kLast + 0.5f);
    const std::vector<double> chances = sample_chances(logits, row);
    ASSERT_GT(chances[kPiece], 0) << round;
    ASSERT_EQ(chances[static_cast<size_t>(last)], 0) << round;
  }
}

TEST(Sample, TopPEndsWhereItsShareIsMetExactly) {
  const std::vector<float> logits{0, 0, 0, 0};
  SampleRow row;
  row.params.top_p = 0.5f;
  EXPECT_EQ(sample_chances(logits, row), (std::vector<double>{0.5, 0.5, 0, 0}));
  row.params.top_p = 0.25f;
  EXPECT_EQ(sample_chances(logits, row), (std::vector<double>{1, 0, 0, 0}));
}

/// With equal weights, id i covers the interval [i, i + 1) of the sum, including its lower bound.
TEST(Sample, ADrawThatMeetsAnEdgeIsTheNextId) {
  constexpr int kEqual = 4096;
  Tensor logits({1, kEqual + 1}, DType::kF32);
  logits.f32()[kEqual] = -100;
  int edges = 0;
  for (SampleRow row; row.step < 100'000 && edges < 3; ++row.step) {
    const double place = kEqual * double{philox_uniform(row.seed, row.step, row.codebook)};
    if (place != std::floor(place) || place == 0) continue;
    ++edges;
    for (const int k : {0, kEqual}) {  // all ids, or only the ids that a filter keeps
      row.params.top_k = k;
      row.params.min_p = k > 0 ? 0.5f : 0;
      EXPECT_EQ(one(Device::kCpu, logits, row), static_cast<int32_t>(place)) << "top " << k;
    }
  }
  EXPECT_EQ(edges, 3) << "the test forced nothing";
}

TEST(Sample, RangesEndAtTheVocabulary) {
  Tensor logits({1, 64}, DType::kF32);
  SampleRow row;
  row.rule.ranges = 1;
  row.rule.allowed[0] = {63, 70};
  EXPECT_EQ(one(Device::kCpu, logits, row), 63);
  SampleStatus status;
  row.rule.forced = 63;
  EXPECT_EQ(one(Device::kCpu, logits, row, &status), 63);
  row.rule.forced = 64;
  EXPECT_EQ(one(Device::kCpu, logits, row, &status), -1);
  EXPECT_EQ(status, SampleStatus::kNothingAllowed);
  // A range beyond the vocabulary allows no id, and does not change the other ranges.
  for (int i = 0; i < 10; ++i) logits.f32()[i] = 0.1f * static_cast<float>(i);
  row.rule = {{{{0, 10}, {70, 76}}}, 2, -1};
  row.params.top_k = 5;
  for (row.step = 0; row.step < 200; ++row.step) EXPECT_GE(one(Device::kCpu, logits, row), 5);
}

/// The best ids are in several pieces of the vocabulary, or all in one piece.
TEST(Sample, TopKAreTheBestOfAllPieces) {
  for (const int vocabulary : {200, 5000}) {
    Tensor logits = fixture::random({1, vocabulary}, 3, 1);
    std::map<int32_t, int> best;
    for (int i = 0; i < 40; ++i) {
      const int32_t id = i * vocabulary / 40 + i % 3;
      logits.f32()[id] = 20 + 0.001f * static_cast<float>(i % 7);
      best[id] = 0;
    }
    ASSERT_EQ(best.size(), 40u);
    SampleRow row;
    row.params.top_k = 40;
    row.params.temperature = 4;
    const auto seen = drawn(logits, row, 3000);
    EXPECT_EQ(seen.size(), 40u) << vocabulary;
    for (const auto& [id, count] : seen) EXPECT_TRUE(best.contains(id)) << id;
  }
}

TEST(Sample, ANucleusMayBeMostOfTheVocabulary) {
  Tensor logits({1, 3000}, DType::kF32);
  for (int i = 0; i < 3000; ++i) logits.f32()[i] = 1e-4f * static_cast<float>(i);
  SampleRow row;
  row.params.top_p = 0.9f;
  const auto seen = drawn(logits, row, 4000);
  EXPECT_GT(seen.size(), 1500u);
  // Top-p removes a tenth of the mass: the lowest ids.
  EXPECT_GT(seen.begin()->first, 200);
}

TEST(Sample, WithoutFiltersEveryPieceHasItsShare) {
  const Tensor logits({1, 3000}, DType::kF32);
  const auto seen = drawn(logits, {}, 3000);
  int thirds[3] = {};
  for (const auto& [id, count] : seen) thirds[id / 1000] += count;
  for (const int third : thirds) EXPECT_NEAR(third, 1000, 150);
}

TEST(Sample, MinPIsHeldAgainstTheBestAtItsTemperature) {
  Tensor logits({1, 3}, DType::kF32);
  logits.f32()[0] = 3, logits.f32()[1] = 2;
  SampleRow row;
  row.params.temperature = 0.5f;
  row.params.min_p = 0.2f;  // the second id has e^-2 of the first id's mass
  EXPECT_EQ(drawn(logits, row, 200).size(), 1u);
  row.params.temperature = 1;
  EXPECT_EQ(drawn(logits, row, 200).size(), 2u);
}

TEST(Sample, LogitsThatOverflowAtTheirTemperatureAreNotFinite) {
  Tensor logits({1, 3}, DType::kF32);
  logits.f32()[1] = 1e34f;
  SampleRow row;
  row.params.temperature = 2e-5f;
  SampleStatus status;
  one(Device::kCpu, logits, row, &status);
  EXPECT_EQ(status, SampleStatus::kNotFinite);
}

}  // namespace
}  // namespace syrinx
