// Memory runs out between the engine's thread and a connection, at each allocation in turn. Data
// that was already queued must arrive, and the connection must receive an end.
#include <gtest/gtest.h>

#include <new>
#include <string>
#include <vector>

#include "engine/failing_new_test.h"
#include "server/request/answer_queue.h"

namespace syrinx {
namespace {

constexpr int kGiven = 6;

Outcome long_outcome() {
  Outcome outcome;
  outcome.words.resize(50);
  outcome.error.message = std::string(100, 'x');
  return outcome;
}

/// Returns whether `call` ran out of memory.
template <typename Call>
bool runs_out(Call call) {
  try {
    call();
  } catch (const std::bad_alloc&) {
    return true;
  }
  return false;
}

TEST(QueueFaults, AnAnswerArrivesWhicheverAllocationFails) {
  const std::vector<float> samples(300, 1.f);
  const std::string piece(200, 'a');
  const std::vector<ScoredToken> tokens(3);
  const Outcome whole = long_outcome();
  int failures = 0, lost = 0;
  for (int n = 1; n < 60; ++n) {
    AnswerQueue queue(1000, [] {});
    size_t text = 0, sound = 0;
    AnswerQueue::News last;
    allocations::fail_after(n);
    const auto take = [&] {
      const int64_t before = allocations::count();
      last = queue.take();
      EXPECT_EQ(allocations::count(), before) << "needs no memory";
      sound += last.samples.size();
      text += last.text.size();
    };
    bool failed = false;
    for (int i = 0; i < kGiven && !failed; ++i) {
      failed = runs_out([&] { queue.audio(samples), queue.text(piece, tokens); });
      if (i % 2 == 1) take();
    }
    // The engine calls finished() whether or not the sink threw.
    EXPECT_FALSE(runs_out([&] { queue.finished(whole); })) << n;
    for (int i = 0; i <= kGiven && !last.outcome; ++i) take();
    failures += allocations::fail_after(0) ? 1 : 0;
    ASSERT_TRUE(last.outcome) << n;
    lost += last.outcome->reason == FinishReason::kError ? 1 : 0;
    EXPECT_EQ(last.outcome->words.size(), last.outcome->reason == FinishReason::kError ? 0u : 50u);
    if (failed) continue;
    EXPECT_EQ(text, kGiven * piece.size()) << n;
    EXPECT_EQ(sound, kGiven * samples.size()) << n;
  }
  EXPECT_GT(failures, 10);
  EXPECT_GT(lost, 1) << "no outcome was lost";
}

TEST(QueueFaults, AudioThatCannotBeTakenNowIsTakenLater) {
  for (int n = 1; n < 4; ++n) {
    AudioQueue queue(1000, [] {});
    queue.audio(std::vector<float>(500, 1.f));
    std::vector<float> out(1, 2.f);
    allocations::fail_after(n);
    const bool failed = runs_out([&] { queue.take(out, 400); });
    allocations::fail_after(0);
    EXPECT_EQ(failed, n == 1);
    EXPECT_DOUBLE_EQ(queue.unread_s(), 0.5);
    queue.take(out, 1000);
    EXPECT_EQ(out.size(), 501u);
    EXPECT_FALSE(queue.end());
    queue.finished(long_outcome());
    EXPECT_TRUE(queue.end());
  }
}

}  // namespace
}  // namespace syrinx
