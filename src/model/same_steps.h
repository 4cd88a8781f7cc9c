// For tests of families: two promises of every AR stage with one cache. What a sequence says does
// not depend on whom it is batched with, and a cache that was taken away is made again to the bit.
#pragma once

#include "model/step_runner.h"

namespace syrinx {

/// Logits of each request are the same bits alone on one thread, and on two beside the others with
/// prompts in parts of five rows. At least `least` steps of each are compared.
inline void expect_same_alone_and_in_a_batch(const Pipeline& model,
                                             std::span<const SpeechRequest> requests,
                                             size_t least) {
  Runner crowd(model, 2);
  std::vector<Track> together;
  for (const SpeechRequest& request : requests) together.push_back(crowd.open(request));
  std::vector<Track*> all;
  for (Track& track : together) all.push_back(&track);
  for (int i = 0; i < 60; ++i) crowd.step(all, 5);
  for (size_t i = 0; i < requests.size(); ++i) {
    Runner runner(model);
    Track alone = runner.open(requests[i]);
    for (int step = 0; step < 40; ++step) runner.step(alone);
    const size_t steps = std::min(alone.logits.size(), together[i].logits.size());
    ASSERT_GE(steps, least) << "request " << i;
    for (size_t s = 0; s < steps; ++s) {
      ASSERT_TRUE(alone.logits[s] == together[i].logits[s]) << "request " << i << " step " << s;
      ASSERT_TRUE(alone.inner[s] == together[i].inner[s]) << "request " << i << " step " << s;
    }
  }
}

/// 30 steps of a request, with its cache taken away at every seventh and without.
inline void expect_a_dropped_cache_made_again(const Pipeline& model, const SpeechRequest& request) {
  Runner runner(model);
  Track kept = runner.open(request), dropped = runner.open(request);
  for (int i = 0; i < 30; ++i) {
    runner.step(kept);
    if (i % 7 == 3) runner.drop(dropped);
    runner.step(dropped);
  }
  EXPECT_TRUE(kept.logits == dropped.logits);
  EXPECT_EQ(kept.frames, dropped.frames);
}

}  // namespace syrinx
