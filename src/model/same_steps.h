// For tests of families: checks two promises of every AR stage with one cache. The steps of a
// sequence do not depend on its batch. A dropped cache is computed again with the same bits.
#pragma once

#include <algorithm>
#include <cstring>
#include <functional>

#include "model/step_runner.h"

namespace syrinx {

/// Makes a track of a request: Runner::open(), or a function that also sends rows of recordings.
using OpenTrack = std::function<Track(Runner&, const SpeechRequest&)>;
inline Track open_track(Runner& runner, const SpeechRequest& request) {
  return runner.open(request);
}

/// Returns whether all numbers have the same bits; two NaNs with the same bits are the same.
inline bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Expects the same bits of logits and values of each request in two runs. In the first run, each
/// request is alone on one thread. In the second, all requests share two threads and their prompts
/// run in parts of five rows; that run ends when every request has taken a step, or after 600
/// batches. Compares at least `least(i)` steps of request i.
inline void expect_same_alone_and_in_a_batch(const Pipeline& model,
                                             std::span<const SpeechRequest> requests,
                                             const std::function<size_t(size_t)>& least,
                                             const OpenTrack& open = open_track) {
  Runner crowd(model, 2);
  std::vector<Track> together;
  for (const SpeechRequest& request : requests) together.push_back(open(crowd, request));
  std::vector<Track*> all;
  for (Track& track : together) all.push_back(&track);
  const auto waits = [](const Track* track) { return !track->finished && track->logits.empty(); };
  for (int i = 0; i < 60 || (i < 600 && std::ranges::any_of(all, waits)); ++i) crowd.step(all, 5);
  for (size_t i = 0; i < requests.size(); ++i) {
    Runner runner(model);
    Track alone = open(runner, requests[i]);
    for (int step = 0; step < 40; ++step) runner.step(alone);
    const size_t steps = std::min(alone.logits.size(), together[i].logits.size());
    ASSERT_GE(steps, least(i)) << "request " << i;
    for (size_t s = 0; s < steps; ++s) {
      ASSERT_TRUE(same_bits(alone.logits[s], together[i].logits[s])) << i << " step " << s;
      ASSERT_TRUE(same_bits(alone.inner[s], together[i].inner[s])) << i << " step " << s;
    }
    const auto rows = static_cast<int64_t>(std::min(alone.rows.size(), together[i].rows.size()));
    ASSERT_TRUE(std::equal(alone.rows.begin(), alone.rows.begin() + rows, together[i].rows.begin()))
        << "request " << i;
  }
}
inline void expect_same_alone_and_in_a_batch(const Pipeline& model,
                                             std::span<const SpeechRequest> requests,
                                             size_t least) {
  expect_same_alone_and_in_a_batch(model, requests, [least](size_t) { return least; });
}

/// Runs 30 steps of a request twice, once with its cache dropped at every seventh step. Expects the
/// same bits.
inline void expect_a_dropped_cache_made_again(const Pipeline& model, const SpeechRequest& request,
                                              const OpenTrack& open = open_track) {
  Runner runner(model);
  Track kept = open(runner, request), dropped = open(runner, request);
  for (int i = 0; i < 30; ++i) {
    runner.step(kept);
    if (i % 7 == 3) runner.drop(dropped);
    runner.step(dropped);
  }
  EXPECT_TRUE(std::ranges::equal(kept.logits, dropped.logits, same_bits));
  EXPECT_EQ(kept.frames, dropped.frames);
  EXPECT_TRUE(kept.rows == dropped.rows);
}

}  // namespace syrinx
