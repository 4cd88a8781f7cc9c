#include "ears/backlog.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

TEST(Backlog, IsWhatPassesTookTimesThoseThatAreDue) {
  Backlog backlog;
  backlog.begin(10);
  backlog.end(10.5, true);
  EXPECT_EQ(backlog.wait_s(10.5), 0) << "no pass is due";
  for (int i = 0; i < 4; ++i) backlog.begin(100);  // the idle time before counts for no pass
  EXPECT_NEAR(backlog.wait_s(100), 4 * 0.5, 1e-9);
  backlog.end(100.2, false);
  EXPECT_NEAR(backlog.wait_s(100.2), 3 * 0.5, 1e-9) << "a pass that is dropped costs nothing";
  for (int i = 1; i <= 3; ++i) backlog.end(100 + i * 0.5, true);
  EXPECT_EQ(backlog.wait_s(101.5), 0);
  backlog.begin(200);
  EXPECT_NEAR(backlog.wait_s(200), 0.5, 1e-9);
}

/// The prediction covers the first pass, and a pass on a machine that has become slow.
TEST(Backlog, IsAtLeastWhatTheRunningPassHasTaken) {
  Backlog backlog;
  backlog.begin(10);
  backlog.begin(10);
  EXPECT_NEAR(backlog.wait_s(10), 2 * Backlog::kUnknown_s, 1e-9) << "no pass was measured";
  EXPECT_NEAR(backlog.wait_s(13), 2 * 3, 1e-9);
  EXPECT_NEAR(backlog.wait_s(13, 1), 3, 1e-9) << "for one of the two";
  backlog.end(13, true);
  EXPECT_NEAR(backlog.wait_s(14), 3, 1e-9);
  EXPECT_EQ(backlog.wait_s(14, 1), 0);
  EXPECT_EQ(backlog.wait_s(14, 2), 0);
  EXPECT_NEAR(backlog.wait_s(20), 7, 1e-9);
}

TEST(Backlog, FollowsAMachineThatChanges) {
  Backlog backlog;
  double now_s = 0;
  const auto passes = [&](int count, double each_s) {
    for (int i = 0; i < count; ++i) {
      backlog.begin(now_s);
      backlog.end(now_s += each_s, true);
    }
    backlog.begin(now_s);
    const double wait_s = backlog.wait_s(now_s);
    backlog.end(now_s, false);
    return wait_s;
  };
  EXPECT_NEAR(passes(20, 0.3), 0.3, 1e-9);
  EXPECT_GT(passes(5, 1.2), 0.6);
  EXPECT_NEAR(passes(60, 0.3), 0.3, 0.01);
}

/// Passes that share a batch end together: each counts with its share of the time.
TEST(Backlog, SharesTimeAmongPassesThatRunTogether) {
  Backlog backlog;
  for (int round = 0; round < 10; ++round) {
    for (int i = 0; i < 4; ++i) backlog.begin(round);
    for (int i = 0; i < 4; ++i) backlog.end(round + 0.8, true);
  }
  backlog.begin(100);
  EXPECT_NEAR(backlog.wait_s(100), 0.2, 0.04);
}

}  // namespace
}  // namespace syrinx
