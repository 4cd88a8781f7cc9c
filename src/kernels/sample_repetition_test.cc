// Compares sampling with penalties, and repetition-aware sampling, with the original formulas.
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

/// Returns the probability of each id by the steps of CosyVoice's code, in double.
std::vector<double> ras_probabilities(const View& logits, const SampleRow& row) {
  const int64_t n = logits.shape[1];
  const SampleParams& p = row.params;
  const auto softmax = [&](const std::vector<double>& s) {
    std::vector<double> w(n);
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += w[i] = std::exp(s[i]);
    for (double& x : w) x /= total;
    return w;
  };
  std::vector<double> scores(logits.f32(), logits.f32() + n), out(n, 0.0);
  for (double& x : scores) x /= p.temperature;
  const std::vector<double> all = softmax(scores);
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return all[a] > all[b]; });
  double sum = 0;
  int count = 0;
  while (count < n && sum < p.top_p && count < p.top_k) sum += all[order[count++]];
  for (int i = 0; i < count; ++i) {
    const int id = order[i];
    const auto begin = row.history.size() > static_cast<size_t>(p.ras_window)
                           ? row.history.end() - p.ras_window
                           : row.history.begin();
    const double chance = all[id] / sum;
    if (std::count(begin, row.history.end(), id) < p.ras_repeats) {
      out[id] += chance;
      continue;
    }
    std::vector<double> rest = scores;
    rest[id] = -INFINITY;
    const std::vector<double> again = softmax(rest);
    for (int64_t j = 0; j < n; ++j) out[j] += chance * again[j];
  }
  return out;
}

TEST(Sample, RepetitionAwareAsItsAuthorsDoIt) {
  constexpr int kIds = 40, kDraws = 20000;
  Tensor logits({1, kIds}, DType::kF32);
  for (int i = 0; i < kIds; ++i) logits.f32()[i] = std::sin(1.7f * static_cast<float>(i)) * 2;
  const std::vector<int32_t> history{7, 0, 38, 38, 1, 5, 5, 5, 12, 13, 14};
  struct Case {
    int top_k, window, repeats;
    float top_p, temperature;
  };
  for (const Case& c : {Case{25, 10, 1, 0.8f, 1}, Case{3, 10, 2, 0.8f, 1}, Case{25, 4, 1, 0.2f, 1},
                        Case{40, 10, 1, 0.5f, 0.7f}}) {
    SampleRow row;
    row.params = {.temperature = c.temperature, .top_k = c.top_k, .top_p = c.top_p};
    row.params.ras_window = c.window, row.params.ras_repeats = c.repeats;
    row.params.min_p = 0.9f;  // min-p has no effect here
    row.history = history;
    row.seed = 3;
    const std::vector<double> want = ras_probabilities(logits, row);
    std::vector<int> seen(kIds, 0);
    for (int i = 0; i < kDraws; ++i) {
      row.step = static_cast<uint32_t>(i);
      ++seen[one(Device::kCpu, logits, row)];
    }
    for (int i = 0; i < kIds; ++i) {
      const double deviation = std::sqrt(want[i] * (1 - want[i]) / kDraws);
      EXPECT_NEAR(static_cast<double>(seen[i]) / kDraws, want[i], 5 * deviation + 1e-9) << i;
    }
  }
}

/// Returns the result of fish-speech's logits_to_probs(), in double.
std::vector<double> filtered_first(const View& logits, int top_k, double top_p,
                                   double temperature) {
  const int64_t n = logits.shape[1];
  std::vector<int> order(n);
  for (int i = 0; i < n; ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return logits.f32()[a] > logits.f32()[b]; });
  double whole = 0, upto = 0, kept = 0;
  for (int64_t i = 0; i < n; ++i) whole += std::exp(double{logits.f32()[i]});
  std::vector<double> out(n, 0.0);
  for (int64_t i = 0; i < n; ++i) {
    const double logit = logits.f32()[order[i]];
    upto += std::exp(logit);
    if (i > 0 && (i >= top_k || upto > top_p * whole)) continue;
    kept += out[order[i]] = std::exp(logit / temperature);
  }
  for (double& p : out) p /= kept;
  return out;
}

TEST(Sample, TheFilterMayComeBeforeTheTemperature) {
  constexpr int kIds = 40, kDraws = 20000;
  Tensor logits({1, kIds}, DType::kF32);
  for (int i = 0; i < kIds; ++i) logits.f32()[i] = std::sin(1.7f * static_cast<float>(i)) * 3;
  const std::vector<int32_t> history{12, 1, 38, 38, 26, 5, 5, 5, 13, 14, 15};
  struct Case {
    int top_k, window;
    float top_p, temperature;
  };
  for (const Case& c : {Case{30, 0, 0.9f, 1}, Case{4, 0, 0.95f, 2}, Case{0, 0, 0.5f, 0.5f},
                        Case{30, 10, 0.7f, 0.6f}, Case{30, 0, 0.01f, 1}, Case{5, 0, 1, 1.5f}}) {
    SampleRow row;
    row.params = {.temperature = c.temperature, .top_k = c.top_k, .top_p = c.top_p};
    row.params.filter_first = true, row.params.min_p = 0.9f;  // min-p has no effect
    row.params.ras_window = c.window;
    row.params.ras_temperature = 1.5f, row.params.ras_top_p = 0.9f;
    row.history = history;
    row.seed = 3;
    const int top_k = c.top_k > 0 ? c.top_k : kIds;
    std::vector<double> want = filtered_first(logits, top_k, c.top_p, c.temperature);
    if (c.window > 0) {  // id 12, the best id, is outside the window
      const std::vector<double> again = filtered_first(logits, top_k, 0.9, 1.5), first = want;
      for (int id = 0; id < kIds; ++id) {
        if (std::count(history.begin() + 1, history.end(), id) == 0) continue;
        want[id] -= first[id];
        for (int j = 0; j < kIds; ++j) want[j] += first[id] * again[j];
      }
    }
    std::vector<int> seen(kIds, 0);
    for (int i = 0; i < kDraws; ++i) {
      row.step = static_cast<uint32_t>(i);
      ++seen[one(Device::kCpu, logits, row)];
    }
    for (int i = 0; i < kIds; ++i) {
      const double deviation = std::sqrt(std::max(want[i] * (1 - want[i]), 0.) / kDraws);
      EXPECT_NEAR(static_cast<double>(seen[i]) / kDraws, want[i], 5 * deviation + 1e-9)
          << i << " at top-p " << c.top_p;
    }
    row.params.temperature = 0;  // always the best id, even if it repeats
    EXPECT_EQ(one(Device::kCpu, logits, row), 12);
  }
}

TEST(Sample, AWindowOfAPenaltyHoldsTheNewest) {
  Tensor logits({1, 2}, DType::kF32);
  logits.f32()[0] = 2, logits.f32()[1] = 1.9f;
  const std::vector<int32_t> history{0, 1};
  SampleRow row;
  row.params.temperature = 0;
  row.params.repetition_penalty = 1.5f;
  row.params.penalty_window = 1;
  row.history = history;
  EXPECT_EQ(one(Device::kCpu, logits, row), 0);
}

TEST(Sample, APenaltyMakesNegativeLogitsSmaller) {
  Tensor logits({1, 2}, DType::kF32);
  logits.f32()[0] = -1, logits.f32()[1] = -1.5f;
  const std::vector<int32_t> history{0};
  SampleRow row;
  row.params.temperature = 0;
  row.params.repetition_penalty = 2;
  row.history = history;
  EXPECT_EQ(one(Device::kCpu, logits, row), 1);
}

TEST(Sample, APenaltyIgnoresIdsThatAreNone) {
  const Tensor logits = fixture::random({1, 100}, 5);
  const std::vector<int32_t> history{-1, INT32_MIN, 100, 101, 1 << 30, INT32_MAX};
  SampleRow row;
  const std::vector<double> plain = sample_chances({logits.f32(), 100}, row);
  row.params.repetition_penalty = 3;
  row.history = history;
  EXPECT_EQ(sample_chances({logits.f32(), 100}, row), plain);
}

TEST(Sample, RepetitionAwareTopKKeepsNoTies) {
  const Tensor logits({1, 5}, DType::kF32);
  SampleRow row;
  row.params.top_k = 2;
  row.params.ras_window = 4;
  const auto seen = drawn(logits, row, 300);
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_TRUE(seen.contains(0) && seen.contains(1));
}

TEST(Sample, RepetitionAwareDrawsTheSameWhateverMinPSays) {
  const Tensor logits = fixture::random({1, 300}, 6, 2);
  SampleRow row;
  row.params.ras_window = 10;
  for (row.step = 0; row.step < 200; ++row.step) {
    row.params.min_p = 0;
    const int32_t without = one(Device::kCpu, logits, row);
    row.params.min_p = 0.5f;
    EXPECT_EQ(one(Device::kCpu, logits, row), without);
  }
}

}  // namespace
}  // namespace syrinx
