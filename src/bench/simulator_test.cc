#include "bench/simulator.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "bench/summary.h"
#include "bench/toy_profile.h"

namespace syrinx {
namespace {

TrafficOptions traffic() {
  TrafficOptions out;
  out.warmup_s = 2;
  out.duration_s = 60;
  out.seed = 1;
  return out;
}

LoadSummary run(const SimulationOptions& options, const LoadPoint& point,
                const StepProfile& profile = toy_profile()) {
  return summarize(simulate(profile, options, point, traffic()), {});
}

TEST(Profile, InterpolatesBetweenMeasurements) {
  EXPECT_DOUBLE_EQ(along_curve({1, 3}, {10, 20}, 2), 15);
  EXPECT_DOUBLE_EQ(along_curve({1, 3}, {10, 20}, 5), 30);
  EXPECT_DOUBLE_EQ(along_curve({1, 3}, {10, 20}, 0), 10);  // not below the smallest value
  EXPECT_DOUBLE_EQ(along_curve({1, 3, 4}, {10, 20, 20}, 9), 20);
  EXPECT_DOUBLE_EQ(along_curve({7}, {3}, 100), 3);
  StepProfile profile = toy_profile();
  ArProfile& ar = profile.ars.front();
  EXPECT_NEAR(ar.step_s(16, 50, 0), 2.6e-3, 1e-9);
  EXPECT_NEAR(ar.step_s(3, 50, 2), 1.5e-3, 1e-9);  // prompt rows cost as much as decode rows
  EXPECT_NEAR(profile.chunks_s(0, 1, 16), 2.6e-3, 1e-9);
  ar.prefill = {{1, 2e-3}, {101, 12e-3}};
  EXPECT_NEAR(ar.step_s(0, 0, 51), 7e-3, 1e-9);
  EXPECT_NEAR(ar.step_s(16, 50, 51), 2.6e-3 + 5e-3, 1e-9);
}

TEST(Profile, SurvivesAFile) {
  StepProfile profile = toy_profile();
  profile.links[0].spread = {0.5, 1.5};
  profile.wake_s = 0.001;
  profile.raw = "{\"decode\":[[1,2,0.5]]}";
  const std::string text = profile_json(profile);
  EXPECT_EQ(profile_json(parse_profile(text, "p.json")).substr(0, 200), text.substr(0, 200));
  const StepProfile again = parse_profile(text, "p.json");
  EXPECT_EQ(again.links[0].seconds, profile.links[0].seconds);
  EXPECT_EQ(again.links[0].spread, profile.links[0].spread);
  EXPECT_EQ(again.utterances[0].nodes[0][0].steps, 40);
  EXPECT_EQ(again.wake_s, 0.001);
}

TEST(Profile, HostileFilesAreRefused) {
  const nlohmann::json good = nlohmann::json::parse(profile_json(toy_profile()));
  const auto refused = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json bad = good;
    bad[nlohmann::json::json_pointer(pointer)] = value;
    EXPECT_THROW(parse_profile(bad.dump(), "p.json"), LoadError) << pointer << " " << value;
  };
  refused("/ars/0/decode", nlohmann::json::array());
  refused("/ars/0/decode/0/batch", 0);
  refused("/ars/0/decode/1/batch", 1);
  refused("/ars/0/decode/0/kv", {5, 5});
  refused("/ars/0/decode/0/seconds", {1e-3});
  refused("/ars/0/decode/0/seconds", {1e-3, -1});
  refused("/links", nlohmann::json::array());
  refused("/links/0/steady", 0);
  refused("/links/0/jobs", {3, 2});
  refused("/links/0/jobs", {3, 3});
  refused("/links/0/seconds", {{1, 2}});
  refused("/links/0/seconds", {{1}, {2}});
  refused("/links/0/seconds", {{1, 2, 3}, {1, 2, 3}});
  refused("/links/0/seconds", "x");
  refused("/links/0/samples_per_frame", 0);
  refused("/utterances", nlohmann::json::array());
  refused("/ars", nlohmann::json::array());
  refused("/utterances/0/nodes", nlohmann::json::array());
  refused("/utterances/0/nodes/0/segments/0/steps", 0);
  refused("/sample_rate", 1e9);
  refused("/pages", 0);
  EXPECT_THROW(parse_profile("", "p.json"), LoadError);
}

TEST(Simulator, OneRequestTakesWhatItsBatchesTake) {
  TrafficOptions once = traffic();
  once.repeats = 1;
  once.warmup_s = 0;
  const LoadResult result = simulate(toy_profile(), {}, {LoadKind::kStreams, 1}, once);
  ASSERT_EQ(result.requests.size(), 1u);
  const RequestRecord& record = result.requests[0];
  // Prompt 0.5 ms, two steps of 1.1 ms (a frame and its lookahead), a chunk of 1.1 ms.
  EXPECT_NEAR(*record.first_audio_s, 0.0005 + 2 * 0.0011 + 0.0011, 1e-9);
  EXPECT_NEAR(record.playback.audio_s, 2, 1e-9);
  EXPECT_EQ(record.playback.underruns, 0);
  // At least 40 steps, and chunks with 40 frames together.
  EXPECT_GT(record.total_s, 40 * 0.0011 + 40 * 0.0001);
  EXPECT_LT(record.total_s, 40 * 0.0011 + 40 * 0.0011 + 0.01);
}

TEST(Simulator, EveryRequestEndsOnceWithAllItsAudio) {
  for (const char* policy : {"streaming", "throughput", "fcfs"}) {
    for (const bool split : {false, true}) {
      for (const int executors : {1, 3}) {
        SimulationOptions options;
        options.policy = policy, options.split = split, options.executors = executors;
        const LoadSummary summary = run(options, {LoadKind::kRate, 10});
        EXPECT_NEAR(summary.requests, 600, 100);
        EXPECT_EQ(summary.failed, 0) << policy;
        EXPECT_NEAR(summary.audio_s, 2.0 * summary.requests, 1e-6);
        EXPECT_GT(summary.smooth, 0.99) << policy << split << executors;
      }
    }
  }
}

TEST(Simulator, ListenersHearInRealTime) {
  const LoadSummary summary = run({}, {LoadKind::kRealtime, 50});
  EXPECT_NEAR(summary.audio_per_s, 50, 3);
  EXPECT_EQ(summary.underruns, 0);
}

TEST(Simulator, OverloadRefusesAndReplicasHelp) {
  SimulationOptions one;
  // 40 steps of at least 0.13 ms and 40 frames of 0.1 ms: at most 100 requests a second.
  const LoadSummary over = run(one, {LoadKind::kRate, 400});
  EXPECT_GT(over.failed, 0);
  EXPECT_FALSE(over.holds);
  SimulationOptions eight;
  eight.replicas = 8;
  const LoadSummary held = run(eight, {LoadKind::kRate, 400});
  EXPECT_EQ(held.failed, 0);
  EXPECT_TRUE(held.holds);
}

TEST(Simulator, FollowsTheSeed) {
  const StepProfile profile = toy_profile();
  const auto first = [&](uint64_t seed) {
    TrafficOptions how = traffic();
    how.seed = seed;
    return *simulate(profile, {}, {LoadKind::kRate, 30}, how).requests.back().first_audio_s;
  };
  EXPECT_EQ(first(3), first(3));
  EXPECT_NE(first(3), first(4));
}

TEST(Simulator, FewPagesSlowDownAndNeverBlock) {
  SimulationOptions options;
  options.pages = 8;  // pages for a little more than two requests
  const LoadSummary summary = run(options, {LoadKind::kStreams, 12});
  EXPECT_GT(summary.requests, 100);
  EXPECT_EQ(summary.failed, 0);
}

TEST(Simulator, GuidancePairsCostTwice) {
  StepProfile profile = toy_profile();
  profile.utterances[0].nodes[0][0].companion_rows = 1;
  const LoadPoint point{LoadKind::kStreams, 16};
  const LoadSummary alone = run({}, point), pairs = run({}, point, profile);
  EXPECT_LT(pairs.audio_per_s, alone.audio_per_s);
  EXPECT_GT(pairs.audio_per_s, alone.audio_per_s / 2.5);
}

/// A writer of 20 steps feeds the toy's node of 40 steps. A step of either node takes 1.1 ms alone.
StepProfile duet_profile() {
  StepProfile profile = toy_profile();
  ArProfile writer = profile.ars.front();
  writer.name = "thinker";
  profile.ars.front().lead = 2;
  profile.ars.insert(profile.ars.begin(), writer);
  profile.utterances[0].nodes.insert(profile.utterances[0].nodes.begin(), {{1, 0, 20, 0, 1}});
  return profile;
}

TEST(Simulator, FramesGoOnAsTheyComeOrWhole) {
  TrafficOptions once = traffic();
  once.repeats = 1;
  once.warmup_s = 0;
  const auto one = [&](bool whole) {
    SimulationOptions options;
    options.whole = whole;
    const LoadResult result = simulate(duet_profile(), options, {LoadKind::kStreams, 1}, once);
    EXPECT_EQ(result.requests.size(), 1u);
    EXPECT_NEAR(result.requests[0].playback.audio_s, 2, 1e-9);
    return result.requests[0];
  };
  const RequestRecord whole = one(true), flowing = one(false);
  // The text begins after the prompt and a step. With `whole`, all steps of both nodes precede the
  // chunk.
  EXPECT_NEAR(*whole.first_byte_s, 0.0005 + 0.0011, 1e-9);
  EXPECT_NEAR(*whole.first_audio_s, 0.0005 + (20 + 40) * 0.0011 + 0.001 + 0.0001 * 40, 1e-9);
  EXPECT_NEAR(*flowing.first_byte_s, *whole.first_byte_s, 1e-9);
  // Audio needs two ids, two frames and one chunk; more steps of the writer may run in between.
  EXPECT_GE(*flowing.first_audio_s, 0.0005 + (2 + 2) * 0.0011 + 0.0011 - 1e-9);
  EXPECT_LT(*flowing.first_audio_s, 0.0005 + 12 * 0.0011);
}

TEST(Simulator, GraphsUnderAnyPolicyEndWithAllTheirAudio) {
  for (const char* policy : {"streaming", "throughput", "fcfs"}) {
    for (const int executors : {1, 3}) {
      SimulationOptions options;
      options.policy = policy, options.executors = executors;
      const LoadSummary summary = run(options, {LoadKind::kRate, 10}, duet_profile());
      EXPECT_NEAR(summary.requests, 600, 100);
      EXPECT_EQ(summary.failed, 0) << policy;
      EXPECT_NEAR(summary.audio_s, 2.0 * summary.requests, 1e-6);
    }
  }
}

TEST(Simulator, UnknownPolicyIsAnError) {
  SimulationOptions options;
  options.policy = "lifo";
  EXPECT_THROW(simulate(toy_profile(), options, {}, traffic()), LoadError);
}

}  // namespace
}  // namespace syrinx
