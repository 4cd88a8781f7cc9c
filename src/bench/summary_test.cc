#include "bench/summary.h"

#include <gtest/gtest.h>

namespace syrinx {
namespace {

RequestRecord record(double due_s, double first_audio_s, double total_s, double longest_s = 0) {
  RequestRecord out;
  out.due_s = due_s;
  out.first_byte_s = first_audio_s - 0.001;
  out.first_audio_s = first_audio_s;
  out.audible_s = first_audio_s + 0.05;
  out.silence_s = 0.05;
  out.total_s = total_s;
  out.playback = {.chunks = 5,
                  .viable_chunks = longest_s > 0 ? 2 : 4,
                  .underruns = longest_s > 0 ? 1 : 0,
                  .max_underrun_s = longest_s,
                  .stall_s = longest_s,
                  .audio_s = 2};
  return out;
}

RequestRecord failed(double due_s, Failure failure, int status) {
  RequestRecord out;
  out.due_s = due_s;
  out.total_s = 0.1;
  out.failure = failure;
  out.status = status;
  out.detail = "why";
  return out;
}

TEST(Summary, CountsWhatItSays) {
  LoadResult result;
  result.requests = {record(0, 0.5, 1),
                     record(2, 0.05, 1),
                     record(3, 0.09, 1, 0.07),
                     record(4, 0.2, 2),
                     failed(5, Failure::kStatus, 503),
                     failed(5.5, Failure::kCut, 200)};
  result.requests[0].warmup = true;
  const LoadSummary out =
      summarize(result, {.first_audio_s = 0.1, .percentile = 0.5, .viable = 0.4});
  EXPECT_EQ(out.requests, 5);
  EXPECT_EQ(out.ok, 3);
  EXPECT_EQ(out.failed, 2);
  EXPECT_EQ(out.failures.at("status 503"), 1);
  EXPECT_EQ(out.failures.at("cut"), 1);
  EXPECT_EQ(out.first_failure, "status 503: why");
  EXPECT_DOUBLE_EQ(out.seconds, 4);  // seconds from 2 to 6
  EXPECT_EQ(out.most_in_flight, 2);
  EXPECT_DOUBLE_EQ(out.first_audio.p50, 0.09);
  EXPECT_DOUBLE_EQ(out.rtf.max, 1);
  EXPECT_DOUBLE_EQ(out.smooth, 2.0 / 3);
  EXPECT_DOUBLE_EQ(out.smooth_50ms, 2.0 / 3);
  EXPECT_DOUBLE_EQ(out.smooth_100ms, 1);
  EXPECT_DOUBLE_EQ(out.viable_chunks, 10.0 / 12);
  EXPECT_DOUBLE_EQ(out.audio_per_s, 1.5);
  EXPECT_DOUBLE_EQ(out.requests_per_s, 0.75);
  EXPECT_DOUBLE_EQ(out.in_time, 2.0 / 5);
  EXPECT_DOUBLE_EQ(out.good, 1.0 / 5);
  EXPECT_DOUBLE_EQ(out.goodput, 0.25);
  // Failed requests count as infinite, so the median of five requests is the third.
  EXPECT_DOUBLE_EQ(out.target_first_audio_s, 0.2);
  EXPECT_FALSE(out.holds);
}

TEST(Summary, RatesCountOverTheWindow) {
  // An open loop of 10 s after a warm-up of 2 s, with two requests at nearly the same time.
  LoadResult result;
  result.point = {LoadKind::kRate, 0.2};
  result.warmup_s = 2;
  result.window_s = 10;
  result.requests = {record(1, 0.05, 1), record(6, 0.05, 1), record(6.5, 0.05, 1)};
  result.requests[0].warmup = true;
  const ServiceTargets targets{.first_audio_s = 0.1, .percentile = 0.9, .viable = 0.9};
  LoadSummary out = summarize(result, targets);
  EXPECT_DOUBLE_EQ(out.seconds, 10);
  EXPECT_DOUBLE_EQ(out.offered, 0.2);
  EXPECT_DOUBLE_EQ(out.goodput, 0.2);
  EXPECT_DOUBLE_EQ(out.requests_per_s, 0.2);
  EXPECT_DOUBLE_EQ(out.audio_per_s, 0.4);
  // An answer may end after the window, so `seconds` grows. Goodput still refers to the window.
  result.requests.push_back(record(11.5, 0.05, 8.5));
  out = summarize(result, targets);
  EXPECT_DOUBLE_EQ(out.seconds, 18);
  EXPECT_DOUBLE_EQ(out.goodput, 0.3);
  EXPECT_DOUBLE_EQ(out.audio_per_s, 6.0 / 18);
}

TEST(Summary, HoldsNeedsAllTargets) {
  LoadResult result;
  for (int i = 0; i < 10; ++i) result.requests.push_back(record(i, 0.05, 1));
  const ServiceTargets targets{.first_audio_s = 0.1, .percentile = 0.8, .viable = 0.9};
  EXPECT_TRUE(summarize(result, targets).holds);
  result.requests[0] = record(0, 0.5, 1);  // one late first audio is allowed
  result.requests[1] = record(1, 0.05, 1, 0.3);
  EXPECT_TRUE(summarize(result, targets).holds);
  result.requests[2] = failed(2, Failure::kTimeout, 0);  // the failed request is not smooth either
  EXPECT_FALSE(summarize(result, targets).holds);
  EXPECT_FALSE(summarize({}, targets).holds);
}

/// A request without audio is not smooth, even if all other audio was smooth.
TEST(Summary, FailuresAreNotSmooth) {
  LoadResult result;
  for (int i = 0; i < 8; ++i) result.requests.push_back(record(i, 0.05, 1));
  const ServiceTargets targets{.first_audio_s = 0.1, .percentile = 0.5, .viable = 0.9};
  EXPECT_TRUE(summarize(result, targets).holds);
  for (int i = 8; i < 10; ++i) result.requests.push_back(failed(i, Failure::kCut, 200));
  EXPECT_FALSE(summarize(result, targets).holds);
  EXPECT_DOUBLE_EQ(summarize(result, targets).smooth, 1);
}

TEST(Summary, WhatIsJustAsLateAsTheLimitIsWithinIt) {
  LoadResult result;
  for (const double late_s : {0.05, 0.051, 0.2})
    result.requests.push_back(record(0, 0.1, 1, late_s));
  const LoadSummary out = summarize(result, {});
  EXPECT_DOUBLE_EQ(out.smooth_50ms, 1.0 / 3);
  EXPECT_DOUBLE_EQ(out.smooth_100ms, 2.0 / 3);
  EXPECT_DOUBLE_EQ(out.smooth_200ms, 1);
}

}  // namespace
}  // namespace syrinx
