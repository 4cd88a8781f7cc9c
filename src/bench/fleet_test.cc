// Tests workers behind a balancer: their shares, failures, starts and stops.
#include "bench/fleet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "bench/balancer.h"
#include "bench/simulator.h"
#include "bench/summary.h"
#include "bench/toy_profile.h"
#include "engine/admission.h"

namespace syrinx {
namespace {

Balancer balancer_of(int workers, BalancerOptions options = {}) {
  Balancer balancer(workers, options);
  for (int i = 0; i < workers; ++i) balancer.up(i, 0, false);
  return balancer;
}

TEST(Balancer, TakesTurnsAmongEqualsAndThenTheLeastLoaded) {
  Balancer balancer = balancer_of(3);
  std::set<int> first;
  for (int i = 0; i < 3; ++i) first.insert(*balancer.open({}, 0));
  EXPECT_EQ(first.size(), 3u);
  balancer.close(1, false);
  EXPECT_EQ(balancer.open({}, 0), 1);
  EXPECT_NE(balancer.open({}, 0, 0), 0) << "not where it has just failed";
  Balancer idle = balancer_of(3);
  const int served = *idle.open({}, 0);
  idle.close(served, false);
  EXPECT_NE(idle.open({}, 0), served) << "the others have waited for longer";
}

TEST(Balancer, ConnectionsFollowWhatAgentsSay) {
  Balancer balancer = balancer_of(2);
  balancer.agent(0, 75);
  balancer.agent(1, 25);
  int counts[2] = {};
  for (int i = 0; i < 400; ++i) ++counts[*balancer.open({}, 0)];
  EXPECT_NEAR(counts[0], 300, 2);
}

TEST(Balancer, NoWorkerIsUpOrOnlyTheOneToAvoid) {
  Balancer balancer = balancer_of(1);
  EXPECT_EQ(balancer.open({}, 0, 0), 0);
  balancer.down(0);
  EXPECT_FALSE(balancer.open({}, 0).has_value());
  EXPECT_FALSE(balancer.open(3, 0).has_value());
}

TEST(Balancer, AWorkerThatComesBackGetsARisingShare) {
  Balancer balancer = balancer_of(2, {.slow_start_s = 10});
  balancer.up(1, 100, true);
  const auto share_at = [&](double now_s) {
    int counts[2] = {};
    for (int i = 0; i < 300; ++i) ++counts[*balancer.open({}, now_s)];
    for (int worker : {0, 1}) {
      for (int i = 0; i < counts[worker]; ++i) balancer.close(worker, false);
    }
    return counts[1] / 300.;
  };
  EXPECT_NEAR(share_at(101), 0.1 / 1.1, 0.02);
  EXPECT_NEAR(share_at(105), 0.5 / 1.5, 0.02);
  EXPECT_NEAR(share_at(110), 0.5, 0.02);
}

TEST(Balancer, VoicesStayAtHomeUpToTheBound) {
  Balancer balancer = balancer_of(4);
  const int home = *balancer.open(7, 0);
  balancer.close(home, true);
  EXPECT_EQ(balancer.open(7, 0), home) << "nobody else has anything";
  balancer.close(home, true);
  std::map<int, int> counts;
  for (int i = 0; i < 80; ++i) ++counts[*balancer.open(7, 0)];
  EXPECT_LE(counts[home], 31) << "1.5 times the mean of 20, rounded up";
  EXPECT_GE(counts[home], 29);
  EXPECT_GE(counts.size(), 3u) << "a voice that everybody wants spreads";
  balancer.down(home);
  EXPECT_NE(balancer.open(7, 0), home);
}

TEST(Balancer, SharesOfVoicesInTheLongRun) {
  const HashRing ring(4);
  const std::vector<bool> up(4, true);
  const std::vector<double> one = voice_shares(ring, up, {1.0}, 1.5);
  EXPECT_NEAR(*std::max_element(one.begin(), one.end()), 0.375, 1e-12);
  EXPECT_NEAR(std::accumulate(one.begin(), one.end(), 0.0), 1, 1e-12);
  const std::vector<double> many = voice_shares(ring, up, zipf(10'000, 0), 1.5);
  for (const double share : many) EXPECT_NEAR(share, 0.25, 0.03);
  const std::vector<double> fewer =
      voice_shares(ring, {true, false, true, true}, zipf(1000, 0), 1.5);
  EXPECT_EQ(fewer[1], 0);
  EXPECT_NEAR(zipf(3, 1)[0], 6. / 11, 1e-12);
}

TEST(Fleet, FailuresAreReadOrRefused) {
  const WorkerFailure failure = read_failure("3600+60.5x10");
  EXPECT_EQ(failure.at_s, 3600);
  EXPECT_EQ(failure.for_s, 60.5);
  EXPECT_EQ(failure.workers, 10);
  EXPECT_EQ(read_failure("0+1").workers, 1);
  for (const char* bad : {"", "5", "+", "1+", "+1", "1+2x", "1+2x0", "1+2x1.5", "x1+2", "1x2+3",
                          "-1+2", "1+nan", "1+2x3y"}) {
    EXPECT_THROW(read_failure(bad), LoadError) << bad;
  }
}

TEST(Fleet, TheDayIsStraightBetweenItsLevels) {
  const Day day{100, {0.2, 1, 0.4, 0}};
  EXPECT_NEAR(day.level(0), 0.2, 1e-12);
  EXPECT_NEAR(day.level(12.5), 0.6, 1e-12);
  EXPECT_NEAR(day.level(25), 1, 1e-12);
  EXPECT_NEAR(day.level(87.5), 0.1, 1e-12) << "towards the next day";
  EXPECT_NEAR(day.level(100), 0.2, 1e-12);
}

TEST(Autoscaler, DoublesAtOnceAndGoesSlowly) {
  Autoscaler scaler({.least = 2, .most = 20, .load = 0.5, .wait_s = 1, .fewer_per_min = 1});
  EXPECT_EQ(scaler.wish(4, 4 * 0.52, 0, 0), 4) << "close enough";
  EXPECT_EQ(scaler.wish(4, 4 * 0.75, 0, 15), 6);
  EXPECT_EQ(scaler.wish(4, 4 * 0.5, 4 * 5.0, 30), 8) << "by the wait, and at most twice";
  EXPECT_EQ(scaler.wish(18, 18 * 1.0, 0, 45), 20);
  // Workers are removed only when fewer workers were enough for five minutes, one per minute.
  EXPECT_EQ(scaler.wish(8, 0.8, 0, 60), 8);
  EXPECT_EQ(scaler.wish(8, 0.8, 0, 340), 8);
  EXPECT_EQ(scaler.wish(8, 0.8, 0, 350), 7);
  EXPECT_EQ(scaler.wish(7, 0.8, 0, 365), 7);
  EXPECT_EQ(scaler.wish(7, 0.8, 0, 411), 6);
  EXPECT_EQ(scaler.wish(2, 0, 0, 1000), 2);
}

// ---------------------------------------------------------------------------- simulated fleets

struct FleetRun {
  LoadResult result;
  LoadSummary summary;
  FleetUse use;
};

FleetRun run_fleet(SimulationOptions options, double rate, double duration_s,
                   const StepProfile& profile = toy_profile(10), double warmup_s = 0) {
  TrafficOptions traffic;
  traffic.duration_s = duration_s;
  traffic.warmup_s = warmup_s;
  traffic.seed = 1;
  FleetRun run;
  run.result = simulate(profile, options, {LoadKind::kRate, rate}, traffic, nullptr, &run.use);
  run.summary = summarize(run.result, {});
  return run;
}

/// A killed worker may fail only the requests whose audio was already playing.
TEST(Fleet, AKilledWorkerCostsWhatItWasPlaying) {
  StepProfile profile = toy_profile(10);
  profile.utterances[0].open_s = 0.15;  // delay before any audio
  SimulationOptions options;
  options.replicas = 4;
  for (const double at_s : {10., 20., 30., 40.}) options.fleet.failures.push_back({at_s, 2, 2});
  const FleetRun run = run_fleet(options, 8, 60, profile);
  EXPECT_GT(run.use.retried, 0) << "what had not begun is served elsewhere";
  int cut = 0;
  for (const RequestRecord& record : run.result.requests) {
    if (record.ok()) continue;
    ASSERT_EQ(record.failure, Failure::kCut) << record.detail;
    EXPECT_TRUE(record.first_audio_s.has_value());
    const double ended_s = record.due_s + record.total_s;
    EXPECT_NEAR(ended_s, 10 * std::round(ended_s / 10), 1e-6);
    ++cut;
  }
  EXPECT_GT(cut, 0);
  EXPECT_LT(cut, 40);
  int least = 4;
  for (const FleetLook& look : run.use.looks) {
    EXPECT_EQ(look.there, 4);
    least = std::min(least, look.up);
  }
  EXPECT_EQ(least, 2);
  EXPECT_EQ(run.use.looks.back().up, 4);
}

TEST(Fleet, WithoutAnyWorkerRequestsFailUntilOneIsBack) {
  SimulationOptions options;
  options.replicas = 2;
  options.fleet.failures = {{10, 5, 2}};
  const FleetRun run = run_fleet(options, 4, 40);
  int refused = 0;
  for (const RequestRecord& record : run.result.requests) {
    if (record.failure != Failure::kStatus) continue;
    ++refused;
    EXPECT_GE(record.due_s, 9);
    EXPECT_LE(record.due_s, 16.0 + 1e-9) << "5 s and a second until it is noticed";
  }
  EXPECT_NEAR(refused, 24, 15);
}

TEST(Fleet, TheAutoscalerFollowsTheLoad) {
  SimulationOptions options;
  options.replicas = 2;
  options.fleet.autoscaling = {.least = 2, .most = 8, .start_s = 20};
  const FleetRun run = run_fleet(options, 20, 200);
  EXPECT_EQ(run.use.looks.front().up, 2);
  EXPECT_GE(run.use.looks.back().up, 4);
  EXPECT_LE(run.use.looks.back().up, 8);
  // Requests may fail only in the first 120 s, until new workers carry the load.
  for (const RequestRecord& record : run.result.requests) {
    EXPECT_TRUE(record.ok() || record.due_s < 120) << record.due_s;
  }
}

TEST(Fleet, OneHotVoiceTakesMoreThanOneWorker) {
  SimulationOptions options;
  options.replicas = 4;
  options.fleet.voices = {.voices = 1};
  const FleetRun hot = run_fleet(options, 8, 60, toy_profile(10), 20);
  EXPECT_EQ(hot.summary.failed, 0);
  double most = 0, mean = 0;
  for (const FleetLook& look : hot.use.looks) most += look.most_used, mean += look.used / 4;
  EXPECT_GT(most, 1.2 * mean);
  EXPECT_LT(most, 2.0 * mean);
}

/// The agents' reports follow the formula of a real server: streams, and the wait of new requests.
TEST(Fleet, AgentsSayWhatServersSay) {
  EXPECT_EQ(free_share(0.25, 1), 0.75);
  EXPECT_EQ(free_share(0.25, 4), 0.25) << "newcomers wait long before the streams are taken";
  EXPECT_LT(free_share(1.5, 1), 0);
  SimulationOptions options;
  options.replicas = 4;
  const auto looks_at = [&](double rate) {
    return run_fleet(options, rate, 60, toy_profile(10), 20).use.looks;
  };
  for (const FleetLook& look : looks_at(1)) EXPECT_NEAR(look.free, 4 - look.used, 1.2);
  // Near a worker's capacity first audio is late, and the agent's report reflects this.
  double by_streams = 0, said = 0, count = 0;
  for (const FleetLook& look : looks_at(60)) {
    by_streams += look.up - look.used, said += look.free, ++count;
    EXPECT_LE(look.free, look.up - look.used + 1e-9);
  }
  EXPECT_LT(said / count, 0.8 * by_streams / count);
  ASSERT_GE(count, 2);
}

/// A thinker and a talker, each on its own device.
TEST(Fleet, NodesThatStepMayBeApartToo) {
  SimulationOptions together, apart;
  apart.apart = {"ar"};
  apart.link_s = 0.002;
  TrafficOptions once;
  once.repeats = 1;
  const auto first_audio = [&](const SimulationOptions& options) {
    const LoadResult result = simulate(toy_profile(), options, {LoadKind::kStreams, 1}, once);
    EXPECT_NEAR(result.requests.at(0).playback.audio_s, 2, 1e-9);
    return *result.requests.at(0).first_audio_s;
  };
  const double later = first_audio(apart) - first_audio(together);
  EXPECT_GT(later, 0.0019) << "a link's time for each step";
  EXPECT_LT(later, 0.05);
}

TEST(Fleet, StagesApartPayForTheLinkAndNotForEachOther) {
  StepProfile profile = toy_profile();
  TrafficOptions once;
  once.repeats = 1;
  const auto first_audio = [&](const SimulationOptions& options) {
    const LoadResult result = simulate(profile, options, {LoadKind::kStreams, 1}, once);
    EXPECT_NEAR(result.requests.at(0).playback.audio_s, 2, 1e-9);
    return *result.requests.at(0).first_audio_s;
  };
  SimulationOptions together, apart;
  apart.apart = {"codec"};
  apart.link_s = 0.003;
  EXPECT_NEAR(first_audio(apart) - first_audio(together), 0.003, 1e-6);
  // Two devices make more audio than one; a link delays audio and does not reduce it.
  const auto audio = [&](const SimulationOptions& options) {
    TrafficOptions how;
    how.duration_s = 20, how.warmup_s = 5;
    return summarize(simulate(profile, options, {LoadKind::kStreams, 24}, how), {}).audio_per_s;
  };
  const double alone = audio(together), two = audio(apart);
  EXPECT_GT(two, 1.2 * alone);
  apart.link_s = 0;
  EXPECT_NEAR(audio(apart), two, 0.1 * two);
  apart.apart = {"nothing"};
  EXPECT_THROW(audio(apart), LoadError);
}

}  // namespace
}  // namespace syrinx
