#include "kernels/sample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/fixture.h"
#include "kernels/sample_chances.h"
#include "kernels/sample_draws_test.h"
#include "kernels/sample_impl.h"

namespace syrinx {
namespace {

using draws::one;
using fixture::Bench;

class SampleTest : public fixture::OnDevice {};
INSTANTIATE_TEST_SUITE_P(Devices, SampleTest, ::testing::ValuesIn(fixture::devices()),
                         fixture::device_label);

/// Returns the probability of each id by the steps of transformers' logits processors, in double.
std::vector<double> probabilities(const View& logits, const SampleRow& row) {
  const int64_t n = logits.shape[1];
  std::vector<double> s(logits.f32(), logits.f32() + n);
  const SampleParams& p = row.params;
  std::vector<int32_t> seen;
  for (size_t i = 0; i < row.history.size(); ++i) {
    if (p.penalty_window && i + p.penalty_window < row.history.size()) continue;
    const int32_t id = row.history[i];
    if (std::count(seen.begin(), seen.end(), id)) continue;
    seen.push_back(id);
    s[id] = s[id] < 0 ? s[id] * p.repetition_penalty : s[id] / p.repetition_penalty;
  }
  for (int64_t i = 0; i < n; ++i) {
    bool in = row.rule.ranges == 0;
    for (int r = 0; r < row.rule.ranges; ++r)
      in = in || (i >= row.rule.allowed[r].begin && i < row.rule.allowed[r].end);
    if (!in) s[i] = -INFINITY;
  }
  for (double& x : s) x /= p.temperature;
  const auto softmax = [&] {
    std::vector<double> w(n);
    const double top = *std::max_element(s.begin(), s.end());
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += w[i] = std::exp(s[i] - top);
    for (double& x : w) x /= total;
    return w;
  };
  if (p.top_k > 0 && p.top_k < n) {
    std::vector<double> sorted = s;
    std::sort(sorted.rbegin(), sorted.rend());
    for (double& x : s)
      if (x < sorted[p.top_k - 1]) x = -INFINITY;
  }
  if (p.top_p < 1) {
    const auto w = softmax();
    std::vector<int> order(n);
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int>(i);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return w[a] < w[b]; });
    double sum = 0;
    for (int64_t i = 0; i + 1 < n; ++i)
      if ((sum += w[order[i]]) <= 1 - p.top_p) s[order[i]] = -INFINITY;
  }
  if (p.min_p > 0) {
    const auto w = softmax();
    const double top = *std::max_element(w.begin(), w.end());
    for (int64_t i = 0; i < n; ++i)
      if (w[i] < p.min_p * top) s[i] = -INFINITY;
  }
  return softmax();
}

TEST(Philox, KnownAnswers) {  // Random123's kat_vectors
  using Four = std::array<uint32_t, 4>;
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Four{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({~0u, ~0u, ~0u, ~0u}, {~0u, ~0u}),
            (Four{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Four{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UniformAndNormalMoments) {
  double sum = 0, square = 0;
  for (uint32_t i = 0; i < 20000; ++i) {
    const float u = philox_uniform(7, i, 3);
    ASSERT_TRUE(u >= 0 && u < 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 20000, 0.5, 0.01);
  std::vector<float> x(20001), y(10);
  philox_normal(7, 1, 2, x);
  sum = 0;
  for (const float v : x) sum += v, square += double{v} * v;
  EXPECT_NEAR(sum / x.size(), 0, 0.03);
  EXPECT_NEAR(square / x.size(), 1, 0.05);
  philox_normal(7, 1, 2, y);
  EXPECT_TRUE(std::equal(y.begin(), y.end(), x.begin()));
}

TEST_P(SampleTest, GreedyTakesTheLowestOfEqualIds) {
  Tensor logits({1, 100}, DType::kF32);
  logits.f32()[31] = logits.f32()[77] = 5;
  SampleRow row;
  row.params.temperature = 0;
  EXPECT_EQ(one(GetParam(), logits, row), 31);
  row.rule.ranges = 2;
  row.rule.allowed = {{{0, 10}, {40, 1000}}};
  EXPECT_EQ(one(GetParam(), logits, row), 77);
  const std::vector<int32_t> history{77, 3, 77};
  row.history = history;
  row.params.repetition_penalty = 1e9f;
  EXPECT_EQ(one(GetParam(), logits, row), 77);  // its logit is still the largest
  row.rule.forced = 99;
  EXPECT_EQ(one(GetParam(), logits, row), 99);
}

/// Ids outside the mask are never drawn, for any logits, with and without filters.
TEST(SampleMask, LeavesNothingElse) {
  constexpr int kIds = 200;
  const Tensor logits = fixture::random({1, kIds}, 5, 2);
  const std::vector<uint64_t> mask{uint64_t{1} << 3 | uint64_t{1} << 63, 0, 1};  // ids 3, 63, 128
  const std::vector<int32_t> history{3, 63, 7};
  for (const float temperature : {0.f, 1.f, 5.f}) {
    for (const int top_k : {0, 1, 50}) {
      for (uint64_t seed = 0; seed < 50; ++seed) {
        SampleRow row;
        row.params.temperature = temperature, row.params.top_k = top_k;
        row.params.top_p = seed % 2 == 0 ? 1 : 0.9f;
        row.params.repetition_penalty = 1.2f;
        row.history = history, row.seed = seed, row.rule.mask = mask;
        const int32_t id = one(Device::kCpu, logits, row);
        EXPECT_TRUE(id == 3 || id == 63 || id == 128) << id;
        row.rule.ranges = 1, row.rule.allowed[0] = {100, 1000};
        EXPECT_EQ(one(Device::kCpu, logits, row), 128);
      }
    }
  }
}

/// A wanted id is chosen, at any temperature, if it is among the best `wanted_among` ids. Otherwise
/// it has no effect.
TEST_P(SampleTest, AWantedIdIsTakenAmongTheBest) {
  constexpr int kIds = 3000;
  const Tensor logits = fixture::random({1, kIds}, 5, 2);
  std::vector<int32_t> order(kIds);
  for (int i = 0; i < kIds; ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](int32_t a, int32_t b) { return logits.f32()[a] > logits.f32()[b]; });
  for (const float temperature : {0.f, 0.7f}) {
    SampleRow plain;
    plain.params.temperature = temperature;
    const int32_t otherwise = one(GetParam(), logits, plain);
    for (const int rank : {0, 1, 4, 700}) {
      for (const int among : {1, 2, 4, 5, 700, 701, kIds}) {
        SampleRow row = plain;
        row.rule.wanted = order[rank], row.rule.wanted_among = among;
        EXPECT_EQ(one(GetParam(), logits, row), rank < among ? order[rank] : otherwise)
            << "the best but " << rank << ", among " << among << ", temperature " << temperature;
      }
    }
    SampleRow row = plain;
    row.rule.wanted = kIds, row.rule.wanted_among = kIds;  // the wanted id does not exist
    EXPECT_EQ(one(GetParam(), logits, row), otherwise);
    // Ids that are not allowed have no rank, and cannot be chosen as the wanted id.
    row.rule.ranges = 2;
    row.rule.allowed = {{{0, order[0]}, {order[0] + 1, kIds}}};
    row.rule.wanted = order[1], row.rule.wanted_among = 1;
    EXPECT_EQ(one(GetParam(), logits, row), order[1]);
    row.rule.wanted = order[0], row.rule.wanted_among = 5;
    EXPECT_NE(one(GetParam(), logits, row), order[0]);
  }
  // Equal logits have the same rank. Ranks are those after the repetition penalty.
  Tensor equal({1, 100}, DType::kF32);
  equal.f32()[31] = equal.f32()[77] = 5;
  SampleRow row;
  row.params.temperature = 0;
  row.rule.wanted = 77;
  EXPECT_EQ(one(GetParam(), equal, row), 77);
  const std::vector<int32_t> history{77};
  row.history = history;
  row.params.repetition_penalty = 2;
  EXPECT_EQ(one(GetParam(), equal, row), 31);
}

struct Filter {
  SampleParams params;
  SampleRule rule;
};

// Compares observed counts with the probabilities of transformers' formulas. Seeds are fixed, so
// that the chi-square bound (mean + 5 sigma) cannot fail by chance.
TEST(Sample, FollowsTheProbabilitiesOfTransformers) {
  const SampleRule some{{{{2, 30}, {33, 34}, {50, 300}}}, 3, -1};
  const std::vector<Filter> filters{
      {{}, {}},
      {{0.7f}, {}},
      {{0.9f, 50}, {}},
      {{1.3f, 5}, some},
      {{1, 0, 0.8f}, {}},
      {{0.8f, 40, 0.9f}, some},
      {{1, 0, 1, 0.05f}, {}},
      {{0.9f, 0, 0.95f, 0.02f, 1.3f}, some},
      {{0.9f, 20, 1, 0, 1.5f, 2}, {}},
      {{1, 0, 0.01f}, {}},
      {{1, 1}, {}},
  };
  const Tensor logits = fixture::random({1, 300}, 5, 2);
  const std::vector<int32_t> history{4, 9, 4, 200, 33, 120, 121};
  for (size_t f = 0; f < filters.size(); ++f) {
    SampleRow row{filters[f].params, filters[f].rule, history, 99, 0, 0};
    const auto want = probabilities(logits, row);
    std::vector<int> counts(300);
    constexpr int kDraws = 20000;
    for (row.step = 0; row.step < kDraws; ++row.step) ++counts[one(Device::kCpu, logits, row)];
    double chi = 0, rest_want = 0, rest_got = 0;
    int cells = 0;
    for (int i = 0; i < 300; ++i) {
      if (want[i] == 0) {
        EXPECT_EQ(counts[i], 0) << "filter " << f << ", id " << i;
      } else if (want[i] * kDraws < 5) {
        rest_want += want[i] * kDraws;
        rest_got += counts[i];
      } else {
        chi += std::pow(counts[i] - want[i] * kDraws, 2) / (want[i] * kDraws);
        ++cells;
      }
    }
    if (rest_want > 5) chi += std::pow(rest_got - rest_want, 2) / rest_want, ++cells;
    EXPECT_LT(chi, cells - 1 + 5 * std::sqrt(2. * cells)) << "filter " << f;
  }
}

// The tests above check statistics on the CPU. Other devices must draw the same ids.
TEST_P(SampleTest, SameIdsAsTheCpuForEveryFilter) {
  Bench cpu, bench(1, GetParam());
  const std::vector<int32_t> history{4, 9, 4, 200, 33, 33, 120, 121, 4};
  std::vector<SampleParams> filters(26);
  filters[1].temperature = 0.7f;
  filters[2].top_k = 50;
  filters[3].top_k = 5, filters[3].temperature = 1.3f;
  filters[4].top_p = 0.8f;
  filters[5].top_p = 0.9f, filters[5].top_k = 40, filters[5].temperature = 0.8f;
  filters[6].min_p = 0.05f;
  filters[7].min_p = 0.02f, filters[7].top_p = 0.95f, filters[7].repetition_penalty = 1.3f;
  filters[8].top_k = 20, filters[8].repetition_penalty = 1.5f, filters[8].penalty_window = 2;
  filters[9].repetition_penalty = 1.4f, filters[9].penalty_each = true;
  filters[10].top_k = 25, filters[10].top_p = 0.8f, filters[10].ras_window = 10;
  filters[11].ras_window = 4, filters[11].ras_repeats = 2;
  filters[12].min_p = 0.1f, filters[12].top_p = 0.9f, filters[12].min_p_first = true;
  filters[13].top_k = 1;
  filters[14].top_p = 0.01f;
  filters[15].temperature = 0;
  for (int i = 16; i < 21; ++i) filters[i].filter_first = true;
  filters[16].top_k = 30, filters[16].top_p = 0.7f, filters[16].temperature = 0.6f;
  filters[17].top_k = 30, filters[17].temperature = 1.5f, filters[17].ras_window = 10;
  filters[17].ras_top_p = 0.9f, filters[17].ras_temperature = 1.2f;
  filters[18].top_p = 0.8f, filters[18].temperature = 2;
  filters[19].top_k = 2500, filters[19].top_p = 0.95f, filters[19].temperature = 0.7f;
  filters[20].top_p = 0.01f;
  for (int i = 21; i < 26; ++i) filters[i].penalty_last = true, filters[i].penalty_window = 3;
  for (int i = 21; i < 26; ++i) filters[i].repetition_penalty = 1.2f;
  filters[21].top_k = 40, filters[21].top_p = 0.95f, filters[21].temperature = 0.8f;
  filters[22].repetition_penalty = 0.5f;
  filters[23].min_p = 0.05f;
  filters[24].top_k = 2500;
  filters[25].temperature = 0;
  const int kinds = static_cast<int>(filters.size()), count = 3 * kinds;
  const SampleRule some{{{{2, 30}, {33, 34}, {50, 5000}}}, 3, -1};
  std::vector<uint64_t> mask(100);  // ids from 6,400 on are outside the mask
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = 0x9e3779b97f4a7c15u * (i + 1);
  SampleRule masked = some;
  masked.mask = mask;
  const SampleRule any, *rules[] = {&any, &some, &masked};
  // Flat logits have many candidates and many ties, steep logits have few.
  for (const float spread : {0.f, 0.02f, 2.f, 8.f}) {
    for (const int vocabulary : {300, 3072, 9000}) {
      Tensor logits = fixture::random({count, vocabulary}, 5, spread);
      for (int i = 0; i < count * vocabulary; i += 7) logits.f32()[i] = 0;
      std::vector<SampleRow> rows;
      for (int i = 0; i < count; ++i) {
        const auto step = static_cast<uint32_t>(i);
        rows.push_back({filters[i % kinds], *rules[i / kinds], history, 99, step, step % 3});
      }
      std::vector<int32_t> want(count), got(count);
      std::vector<SampleStatus> want_status(count), status(count);
      sample(cpu.ctx, logits, rows, want, want_status);
      sample(bench.ctx, bench.on(logits), rows, got, status);
      bench.back();
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(got[i], want[i]) << "filter " << i % kinds << ", " << vocabulary
                                   << " ids, spread " << spread << ", rule " << i / kinds;
        EXPECT_EQ(status[i], want_status[i]);
      }
    }
  }
}

// Half of the ids get the penalty, and every row has its own mask.
TEST_P(SampleTest, SameIdsAsTheCpuForPenaltiesAndMasks) {
  constexpr int kRows = 400, kVocabulary = 150;
  const Tensor logits = fixture::random({kRows, kVocabulary}, 9, 1.5f);
  std::vector<int32_t> history;
  for (int id = 0; id < kVocabulary; id += 2) history.push_back(id);
  std::vector<std::vector<uint64_t>> masks;
  std::vector<SampleRow> rows(kRows);
  for (uint32_t i = 0; i < kRows; ++i) {
    masks.push_back({~uint64_t{0} << i % 60, 0x5555555555555555u << i % 2, i % 3});
    rows[i].params.repetition_penalty = i % 2 != 0 ? 1.7f : 0.6f;
    rows[i].params.penalty_last = i % 4 < 2;
    if (i % 8 < 4) rows[i].params.top_k = 60;
    rows[i].history = history, rows[i].step = i;
    if (i % 16 < 8) rows[i].rule.mask = masks.back();
  }
  Bench cpu, bench(1, GetParam());
  std::vector<int32_t> want(kRows), got(kRows);
  std::vector<SampleStatus> status(kRows);
  sample(cpu.ctx, logits, rows, want, status);
  sample(bench.ctx, bench.on(logits), rows, got, status);
  bench.back();
  EXPECT_EQ(got, want);
}

TEST(Sample, TopKKeepsTies) {
  Tensor logits({1, 5000}, DType::kF32);  // all logits are equal, except one
  logits.f32()[4000] = 1;
  SampleRow row;
  row.params.top_k = 3;
  std::map<int32_t, int> seen;
  for (row.step = 0; row.step < 300; ++row.step) ++seen[one(Device::kCpu, logits, row)];
  EXPECT_GT(seen.size(), 200u);
}

TEST_P(SampleTest, PenaltyMayCountEveryOccurrence) {
  Tensor logits({1, 2}, DType::kF32);
  logits.f32()[0] = 2, logits.f32()[1] = 1.5f;
  const std::vector<int32_t> history{0, 0};
  SampleRow row;
  row.params.temperature = 0;
  row.params.repetition_penalty = 1.2f;
  row.history = history;
  EXPECT_EQ(one(GetParam(), logits, row), 0);  // because 2 / 1.2 is more than 1.5
  row.params.penalty_each = true;
  EXPECT_EQ(one(GetParam(), logits, row), 1);  // because 2 / 1.2 / 1.2 is less than 1.5
  row.params.penalty_window = 1;
  EXPECT_EQ(one(GetParam(), logits, row), 0);
}

// Source: chatterbox:models/t3/t3.py, inference_turbo.
TEST(SampleOrder, PenaltyMayComeAfterTheFilters) {
  const std::vector<float> logits{3, 2.9f, 2.8f, 1};
  const std::vector<int32_t> history{0, 0};
  SampleRow row;
  row.params.top_k = 2;
  row.params.repetition_penalty = 2;
  row.history = history;
  std::vector<double> first = sample_chances(logits, row);
  EXPECT_EQ(first[0], 0) << "1.5 is no longer among the best two";
  row.params.penalty_last = true;
  const std::vector<double> last = sample_chances(logits, row);
  EXPECT_EQ(last[2], 0);
  EXPECT_NEAR(last[0] / last[1], std::exp(1.5 - 2.9), 1e-6) << "penalised once";
  row.params.temperature = 0;
  const std::vector<double> best = sample_chances(logits, row);
  EXPECT_EQ(best[1], 1) << "the best of all, penalised first";
}

TEST_P(SampleTest, SameDrawInAnyBatchAndThreads) {
  constexpr int kRows = 16, kVocabulary = 30001;
  const Tensor logits = fixture::random({kRows, kVocabulary}, 3, 3);
  const std::vector<int32_t> history{5, 6, 7, 29999};
  std::vector<SampleRow> rows;
  for (int i = 0; i < kRows; ++i) {
    SampleRow row;
    row.params.temperature = 0.5f + 0.1f * i;
    row.params.top_k = i % 3 == 0 ? 50 : 0;
    row.params.top_p = i % 2 ? 0.9f : 1;
    row.params.repetition_penalty = i % 5 ? 1.2f : 1;
    row.history = history;
    row.seed = 1000 + i;
    row.step = i * 3;
    rows.push_back(row);
  }
  for (const int threads : GetParam() == Device::kCpu ? std::vector{1, 2, 5} : std::vector{1}) {
    Bench bench(threads, GetParam());
    std::vector<int32_t> ids(kRows);
    std::vector<SampleStatus> status(kRows);
    sample(bench.ctx, bench.on(logits), rows, ids, status);
    for (int i = 0; i < kRows; ++i) {
      EXPECT_EQ(status[i], SampleStatus::kOk);
      EXPECT_EQ(ids[i], one(GetParam(), logits.view().slice(i, i + 1), rows[i])) << i;
    }
  }
}

TEST(Sample, PlainAndFastLoopsAgree) {
  for (const int64_t n : {1, 7, 8, 1000, 1025, 5003}) {
    const Tensor x = fixture::random({n}, 4, 5);
    Tensor a({n}, DType::kF32), b({n}, DType::kF32);
    float top_a, top_b;
    EXPECT_TRUE(ref::copy_logits(x.f32(), n, a.f32(), &top_a));
    EXPECT_TRUE(simd::copy_logits(x.f32(), n, b.f32(), &top_b));
    EXPECT_EQ(top_a, top_b);
    ref::divide(a.f32(), n, 0.7f);
    simd::divide(b.f32(), n, 0.7f);
    EXPECT_TRUE(fixture::same_bits(a, b));
    const double sum_a = ref::exp_sum(a.f32(), n, top_a), sum_b = simd::exp_sum(a.f32(), n, top_a);
    EXPECT_NEAR(sum_a, sum_b, 1e-6 * sum_a);
    std::vector<Candidate> found_a(n), found_b(n);
    const int64_t count = ref::collect(a.f32(), 0, n, 0.5f, found_a.data());
    ASSERT_EQ(simd::collect(a.f32(), 0, n, 0.5f, found_b.data()), count);
    for (int64_t i = 0; i < count; ++i) EXPECT_EQ(found_a[i].id, found_b[i].id);
    EXPECT_EQ(ref::largest_of(x.f32(), n), *std::max_element(x.f32(), x.f32() + n));
    EXPECT_EQ(simd::largest_of(x.f32(), n), ref::largest_of(x.f32(), n));
    b.f32()[n - 1] = NAN;
    EXPECT_EQ(simd::largest_of(b.f32(), n), ref::largest_of(b.f32(), n));
    EXPECT_FALSE(ref::copy_logits(b.f32(), n, a.f32(), &top_a));
    EXPECT_FALSE(simd::copy_logits(b.f32(), n, a.f32(), &top_b));
  }
}

TEST_P(SampleTest, BadRowsDisturbNoOther) {
  Bench bench(1, GetParam());
  Tensor logits = fixture::random({5, 64}, 1);
  logits.f32()[10] = NAN;
  logits.f32()[64 + 3] = INFINITY;
  for (int i = 0; i < 64; ++i) logits.f32()[3 * 64 + i] = -INFINITY;
  std::vector<SampleRow> rows(5);
  rows[4].rule.ranges = 1;
  rows[4].rule.allowed[0] = {70, 80};
  std::vector<int32_t> ids(5);
  std::vector<SampleStatus> status(5);
  sample(bench.ctx, bench.on(logits), rows, ids, status);
  EXPECT_EQ(status,
            (std::vector{SampleStatus::kNotFinite, SampleStatus::kNotFinite, SampleStatus::kOk,
                         SampleStatus::kNothingAllowed, SampleStatus::kNothingAllowed}));
  EXPECT_EQ(ids[0], -1);
  EXPECT_GE(ids[2], 0);
  // A NaN outside the allowed ids has no effect.
  rows[0].rule.ranges = 1;
  rows[0].rule.allowed[0] = {11, 64};
  SampleStatus state;
  EXPECT_GE(one(GetParam(), logits.view().slice(0, 1), rows[0], &state), 11);
  EXPECT_EQ(state, SampleStatus::kOk);
}

TEST_P(SampleTest, RepetitionAwareKeepsTheOnlyId) {
  Tensor logits({1, 3}, DType::kF32);
  logits.f32()[0] = logits.f32()[2] = -INFINITY;
  const int32_t history[] = {1, 1};
  SampleRow row;
  row.params.ras_window = 10;
  row.history = history;
  EXPECT_EQ(one(GetParam(), logits, row), 1);
}

/// In the codes [E, K] of a step, a companion gets the code of its sequence. A row that cannot be
/// sampled gets code 0, and its status says so.
TEST(Sample, CodesGoToTheRowsOfThePair) {
  Bench bench(1, Device::kCpu);
  Tensor logits({3, 8}, DType::kF32);
  for (const int at : {5, 8 + 2}) logits.f32()[at] = 9;
  logits.f32()[16] = NAN;
  std::vector<SampleRow> rows(3);
  for (SampleRow& row : rows) row.params.temperature = 0;
  const std::vector<GuidedRow> places{{0, true, 1}, {2, false, 1}, {3, false, 1}};
  std::vector<int32_t> memory(4 * 2, -9), told(3 * 2, -9);
  const View codes{memory.data(), DType::kI32, {4, 2}}, status{told.data(), DType::kI32, {3, 2}};
  sample_codes(bench.ctx, bench.on(logits), rows, places, 1, bench.on(codes), bench.on(status));
  bench.back();
  EXPECT_EQ(memory, (std::vector<int32_t>{-9, 5, -9, 5, -9, 2, -9, 0}));
  EXPECT_EQ(told[1], 0);
  EXPECT_EQ(told[5], static_cast<int32_t>(SampleStatus::kNotFinite));
}

}  // namespace
}  // namespace syrinx
