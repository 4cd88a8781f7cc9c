#include "ears/backlog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace syrinx {
namespace {

TEST(Backlog, IsWhatPassesTookTimesThoseThatAreDue) {
  Backlog backlog(1);
  backlog.end(backlog.begin(10), 10.5, true);
  EXPECT_EQ(backlog.wait_s(10.5), 0) << "no pass is due";
  std::vector<Backlog::Pass> due;
  for (int i = 0; i < 4; ++i) due.push_back(backlog.begin(100));  // idle time does not count
  EXPECT_NEAR(backlog.wait_s(100), 4 * 0.5, 1e-9);
  backlog.end(due[3], 100.2, false);
  EXPECT_NEAR(backlog.wait_s(100.2), 3 * 0.5, 1e-9) << "a pass that is dropped costs nothing";
  for (int i = 0; i < 3; ++i) backlog.end(due[static_cast<size_t>(i)], 100.5 + i * 0.5, true);
  EXPECT_EQ(backlog.wait_s(101.5), 0);
  backlog.begin(200);
  EXPECT_NEAR(backlog.wait_s(200), 0.5, 1e-9);
}

/// A running pass counts at least with its time so far, also if it is the first pass or slow.
TEST(Backlog, IsAtLeastWhatTheRunningPassHasTaken) {
  Backlog backlog(1);
  const Backlog::Pass first = backlog.begin(10), second = backlog.begin(10);
  EXPECT_NEAR(backlog.wait_s(10), 2 * Backlog::kUnknown_s, 1e-9) << "no pass was measured";
  EXPECT_NEAR(backlog.wait_s(13), 2 * 3, 1e-9);
  EXPECT_NEAR(backlog.wait_s(13, second), 3, 1e-9) << "for one of the two";
  backlog.end(first, 13, true);
  EXPECT_NEAR(backlog.wait_s(14), 3, 1e-9);
  EXPECT_EQ(backlog.wait_s(14, second), 0);
  EXPECT_NEAR(backlog.wait_s(20), 7, 1e-9);
}

TEST(Backlog, FollowsAMachineThatChanges) {
  Backlog backlog(1);
  double now_s = 0;
  const auto passes = [&](int count, double each_s) {
    for (int i = 0; i < count; ++i) {
      const Backlog::Pass pass = backlog.begin(now_s);
      backlog.end(pass, now_s += each_s, true);
    }
    const Backlog::Pass one = backlog.begin(now_s);
    const double wait_s = backlog.wait_s(now_s);
    backlog.end(one, now_s, false);
    return wait_s;
  };
  EXPECT_NEAR(passes(20, 0.3), 0.3, 1e-9);
  EXPECT_GT(passes(5, 1.2), 0.6);
  EXPECT_NEAR(passes(60, 0.3), 0.3, 0.01);
}

/// Passes that share a batch end together. Each one must count with its share of the batch's time.
TEST(Backlog, SharesTimeAmongPassesThatRunTogether) {
  Backlog backlog(4);
  for (int round = 0; round < 10; ++round) {
    std::vector<Backlog::Pass> together;
    for (int i = 0; i < 4; ++i) together.push_back(backlog.begin(round));
    for (const Backlog::Pass pass : together) EXPECT_TRUE(backlog.may_run(pass));
    for (const Backlog::Pass pass : together) backlog.end(pass, round + 0.8, true);
  }
  backlog.begin(100);
  EXPECT_NEAR(backlog.wait_s(100), 0.2, 0.04);
}

TEST(Backlog, PassesRunInTheOrderInWhichTheyBecameDue) {
  Backlog backlog(1);
  const Backlog::Pass early = backlog.begin(0, true), first = backlog.begin(1),
                      second = backlog.begin(2);
  EXPECT_TRUE(backlog.may_run(early)) << "in the background";
  EXPECT_TRUE(backlog.may_run(first));
  EXPECT_FALSE(backlog.may_run(second));
  EXPECT_TRUE(backlog.may_run(0));
  backlog.raise(early);
  EXPECT_TRUE(backlog.may_run(early));
  EXPECT_FALSE(backlog.may_run(first)) << "the raised pass was due before it";
  backlog.end(early, 3, true);
  backlog.end(first, 4, false);
  EXPECT_TRUE(backlog.may_run(second));
}

TEST(Backlog, ADelayCountsFromWhenAPassBecameDue) {
  Backlog backlog(1);
  EXPECT_EQ(backlog.delay_s(0, 0), 0) << "no pass waits or runs";
  backlog.end(backlog.begin(0), 2, true);
  const Backlog::Pass first = backlog.begin(10), second = backlog.begin(10.5);
  EXPECT_EQ(backlog.delay_s(11, first), 0) << "it is its turn";
  EXPECT_NEAR(backlog.delay_s(11, second), 0.5 + 1 + 2,
              1e-9);  // time waited, rest of the first pass, duration of the own pass
  EXPECT_NEAR(backlog.delay_s(11, 0), 1 + 2 + 2, 1e-9) << "of one more pass";
  EXPECT_NEAR(backlog.delay_s(15, second), 4.5 + 5, 1e-9) << "passes take at least 5 s now";
}

/// Twenty speakers end within 6 s, before any pass was measured; each pass needs `pass_s`. A
/// speaker is refused at the first tick, from its end on, at which its delay exceeds kBound_s.
TEST(Backlog, AdmittedTranscriptsComeWithinTheBoundFromTheFirstTurnOn) {
  constexpr double kBound_s = 5, kTick_s = 0.25;
  struct Speaker {
    double end_s = 0;
    Backlog::Pass pass = 0;
    bool refused = false;
    double left_s = 0, heard_s = -1;
  };
  for (const double pass_s : {0.5, 2.0, 4.0, 9.0}) {
    Backlog backlog(1);
    std::vector<Speaker> speakers(20);
    for (size_t i = 0; i < speakers.size(); ++i) {
      speakers[i].end_s = 0.3 * static_cast<double>(i);
      speakers[i].left_s = pass_s;
    }
    double latest_refusal_s = 0;
    for (double now_s = 0; now_s < 60; now_s += kTick_s) {
      for (Speaker& each : speakers) {
        if (each.refused || each.heard_s >= 0 || each.end_s > now_s) continue;
        if (backlog.delay_s(now_s, each.pass) > kBound_s) {
          if (each.pass != 0) backlog.end(each.pass, now_s, false);
          each.refused = true;
          latest_refusal_s = std::max(latest_refusal_s, now_s - each.end_s);
          continue;
        }
        if (each.pass == 0) each.pass = backlog.begin(now_s);
      }
      for (Speaker& each : speakers) {
        if (each.refused || each.pass == 0 || each.heard_s >= 0 || !backlog.may_run(each.pass))
          continue;
        if ((each.left_s -= kTick_s) > 1e-9) break;
        each.heard_s = now_s + kTick_s - each.end_s;
        backlog.end(each.pass, now_s + kTick_s, true);
        break;
      }
    }
    int heard = 0;
    for (const Speaker& each : speakers) {
      if (each.refused) continue;
      ++heard;
      EXPECT_LE(each.heard_s, std::max(kBound_s, pass_s) + 2 * kTick_s) << pass_s;
      EXPECT_GE(each.heard_s, 0) << pass_s << ": neither heard nor refused";
    }
    EXPECT_GE(heard, std::min(20.0, 5 / pass_s)) << pass_s;
    EXPECT_LE(latest_refusal_s, kBound_s + kTick_s) << pass_s;
  }
}

}  // namespace
}  // namespace syrinx
