// Tests percentiles, arrivals and the order of texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bench/arrivals.h"
#include "bench/percentiles.h"

namespace syrinx {
namespace {

TEST(Percentile, InterpolatesBetweenRanks) {
  const std::vector<double> four = {1, 2, 3, 4};  // values of numpy.percentile([1, 2, 3, 4], ...)
  EXPECT_DOUBLE_EQ(percentile(four, 0), 1);
  EXPECT_DOUBLE_EQ(percentile(four, 0.5), 2.5);
  EXPECT_DOUBLE_EQ(percentile(four, 0.9), 3.7);
  EXPECT_DOUBLE_EQ(percentile(four, 1), 4);
  EXPECT_DOUBLE_EQ(percentile(four, 7), 4);
  EXPECT_DOUBLE_EQ(percentile({}, 0.5), 0);
  EXPECT_DOUBLE_EQ(percentile(std::vector<double>{3}, 0.99), 3);
}

TEST(Percentile, SortsFirst) {
  const Percentiles all = percentiles({5, 1, 3, 2, 4});
  EXPECT_EQ(all.count, 5u);
  EXPECT_DOUBLE_EQ(all.mean, 3);
  EXPECT_DOUBLE_EQ(all.p50, 3);
  EXPECT_DOUBLE_EQ(all.p90, 4.6);
  EXPECT_DOUBLE_EQ(all.p95, 4.8);
  EXPECT_DOUBLE_EQ(all.p99, 4.96);
  EXPECT_DOUBLE_EQ(all.max, 5);
  EXPECT_EQ(percentiles({}).count, 0u);
}

TEST(Arrivals, ArePoisson) {
  const double rate = 50, duration_s = 400;
  const std::vector<double> times = poisson_arrivals(rate, duration_s, 7);
  ASSERT_TRUE(std::is_sorted(times.begin(), times.end()));
  EXPECT_GE(times.front(), 0);
  EXPECT_LT(times.back(), duration_s);
  // About 20000 arrivals are expected; four standard deviations are 566.
  EXPECT_NEAR(static_cast<double>(times.size()), rate * duration_s, 566);
  // Gaps are exponential: mean and standard deviation are 1 / rate, and a share e^-1 is longer.
  double sum = 0, squares = 0;
  int longer = 0;
  for (size_t i = 1; i < times.size(); ++i) {
    const double gap = times[i] - times[i - 1];
    sum += gap, squares += gap * gap, longer += gap > 1 / rate;
  }
  const auto n = static_cast<double>(times.size() - 1);
  EXPECT_NEAR(std::sqrt(squares / n - (sum / n) * (sum / n)) * rate, 1, 0.05);
  EXPECT_NEAR(longer / n, std::exp(-1), 0.02);
  // In one-second windows the variance of the counts equals their mean.
  std::vector<double> counts(static_cast<size_t>(duration_s));
  for (const double at : times) ++counts[static_cast<size_t>(at)];
  double variance = 0;
  for (const double count : counts) variance += (count - rate) * (count - rate);
  EXPECT_NEAR(variance / duration_s / rate, 1, 0.3);
}

TEST(Arrivals, FollowTheSeed) {
  EXPECT_EQ(poisson_arrivals(3, 10, 1), poisson_arrivals(3, 10, 1));
  EXPECT_NE(poisson_arrivals(3, 10, 1), poisson_arrivals(3, 10, 2));
  EXPECT_TRUE(poisson_arrivals(1, 0, 1).empty());
}

TEST(Rounds, TakeEveryTextOnceARound) {
  Rounds rounds(5, 3);
  std::vector<std::vector<size_t>> orders;
  for (int round = 0; round < 20; ++round) {
    std::vector<size_t> order;
    for (int i = 0; i < 5; ++i) order.push_back(rounds.next());
    EXPECT_EQ(std::set<size_t>(order.begin(), order.end()).size(), 5u);
    orders.push_back(order);
  }
  EXPECT_NE(orders[0], orders[1]);
  Rounds again(5, 3);
  EXPECT_EQ(again.next(), orders[0][0]);
}

}  // namespace
}  // namespace syrinx
