#include "voices/voice_queue.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <random>
#include <semaphore>
#include <thread>

namespace syrinx {
namespace {

/// An encoder whose voice is the sum of the recording's samples, with 100 samples per piece. It
/// throws if the first sample is 13.
class Adder : public VoiceEncoder {
 public:
  struct Sum : VoiceEncoding {
    std::vector<float> samples;
    size_t at = 0;
    float sum = 0;
    bool done() const override { return at == samples.size(); }
    Voice take() override {
      Voice voice{.family = "adder", .encoder = "1", .mode = "sum"};
      voice.tensors.emplace("sum", Tensor({1}, DType::kF32));
      voice.tensors["sum"].f32()[0] = sum;
      return voice;
    }
  };
  const VoiceEncoderInfo& info() const override { return info_; }
  std::unique_ptr<VoiceEncoding> open(const Recording& recording) const override {
    auto sum = std::make_unique<Sum>();
    sum->samples = recording.samples;
    return sum;
  }
  void run(StepContext&, std::span<VoiceEncoding* const> batch) const override {
    if (held) waiting = true, gate.acquire();
    largest = std::max(largest.load(), static_cast<int>(batch.size()));
    niceness = getpriority(PRIO_PROCESS, 0);  // on Linux, the nice value of this thread
    ++pieces;
    for (VoiceEncoding* encoding : batch) {
      Sum& sum = static_cast<Sum&>(*encoding);
      EXPECT_FALSE(sum.done());
      if (sum.samples[0] == 13) throw InternalError("unlucky");
      for (int i = 0; i < 100; ++i) sum.sum += sum.samples[sum.at++];
    }
  }
  std::atomic<bool> held = false;
  mutable std::counting_semaphore<> gate{0};
  mutable std::atomic<bool> waiting = false;
  mutable std::atomic<int> largest = 0, pieces = 0, niceness = 0;

 private:
  VoiceEncoderInfo info_ = {
      .family = "adder", .version = "1", .modes = {{"sum"}}, .min_s = 0.05, .max_s = 100};
};

Recording recording(float value, int hundreds) {
  return {.samples = std::vector<float>(static_cast<size_t>(hundreds) * 100, value),
          .sample_rate = 1000};
}

/// Waits for the outcome of one recording.
class Asked {
 public:
  VoiceDone done() {
    return [this](Result<Voice> result) { promise_.set_value(std::move(result)); };
  }
  Result<Voice> wait() {
    auto future = promise_.get_future();
    EXPECT_EQ(future.wait_for(std::chrono::seconds(20)), std::future_status::ready);
    return future.get();
  }

 private:
  std::promise<Result<Voice>> promise_;
};

void wait_until_empty(const VoiceQueue& queue) {
  while (queue.metrics().waiting.value() > 0) std::this_thread::yield();
}

TEST(VoiceQueue, EncodesSeveralInTurns) {
  Adder adder;
  VoiceQueue queue(adder);
  std::vector<Asked> asked(9);
  for (int i = 0; i < 9; ++i) {
    ASSERT_TRUE(queue.encode(recording(static_cast<float>(i), 2 + i), 1, asked[i].done()).ok());
  }
  for (int i = 0; i < 9; ++i) {
    EXPECT_EQ(asked[i].wait().value().find("sum")->f32()[0],
              static_cast<float>(i * (200 + 100 * i)));
  }
  EXPECT_LE(adder.largest, 4);
  wait_until_empty(queue);
  EXPECT_EQ(queue.metrics().encoded.value(), 9);
  EXPECT_EQ(queue.metrics().waiting.value(), 0);
}

/// The thread's nice value is 10 more than that of the thread that made the queue. That thread may
/// itself have been started with nice(1).
TEST(VoiceQueue, GivesUpPriorityOfWhatItHas) {
  for (const int mine : {0, 7}) {
    int before = 0;
    Adder adder;
    std::thread([&] {  // this thread has a nice value that no other thread has
      (void)!nice(mine);
      before = getpriority(PRIO_PROCESS, 0);
      VoiceQueue queue(adder);
      Asked asked;
      ASSERT_TRUE(queue.encode(recording(1, 1), 1, asked.done()).ok());
      EXPECT_TRUE(asked.wait().ok());
    })
        .join();
    EXPECT_EQ(adder.niceness, std::min(before + 10, 19));
  }
}

TEST(VoiceQueue, CancelledBetweenPieces) {
  Adder adder;
  adder.held = true;
  VoiceQueue queue(adder);
  Asked begun, waiting;
  const uint64_t first = queue.encode(recording(1, 90), 1, begun.done()).value();
  adder.gate.release();  // runs its first piece
  while (adder.pieces == 0) std::this_thread::yield();
  const uint64_t second = queue.encode(recording(1, 90), 1, waiting.done()).value();
  queue.cancel(first), queue.cancel(second), queue.cancel(777);
  adder.gate.release(2);
  EXPECT_EQ(begun.wait().error().code, ErrorCode::kCancelled);
  EXPECT_EQ(waiting.wait().error().code, ErrorCode::kCancelled);
  EXPECT_LE(adder.pieces, 3);
}

TEST(VoiceQueue, EndsWithWhatIsUnfinishedCancelled) {
  Adder adder;
  adder.held = true;
  Asked asked;
  {
    VoiceQueue queue(adder);
    ASSERT_TRUE(queue.encode(recording(1, 90), 1, asked.done()).ok());
    EXPECT_EQ(queue.metrics().waiting.value(), 1);
    adder.held = false;
    adder.gate.release();
  }
  const Result<Voice> result = asked.wait();  // the recording was either finished or cancelled
  EXPECT_TRUE(result.ok() || result.error().code == ErrorCode::kCancelled);
}

/// A recording with too long a predicted wait is refused immediately; the error has the wait.
TEST(VoiceQueue, RefusesWhatWouldWaitTooLong) {
  Adder adder;
  adder.held = true;
  Asked learned, long_one, more;
  VoiceQueue queue(adder, {.max_wait_s = 1});
  ASSERT_TRUE(queue.encode(recording(1, 1), 1, learned.done()).ok());
  while (!adder.waiting) std::this_thread::yield();            // this takes time on a busy machine
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // learned as the cost of 0.1 s
  adder.gate.release();
  ASSERT_TRUE(learned.wait().ok());
  ASSERT_TRUE(queue.encode(recording(1, 900), 1, long_one.done()).ok());
  const auto refused = queue.encode(recording(1, 1), 2, more.done());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kOverloaded);
  EXPECT_GT(refused.error().retry_after_s, 10);
  adder.held = false;
  adder.gate.release();
}

TEST(VoiceQueue, FaultsFailTheirBatchOnly) {
  Adder adder;
  VoiceQueue queue(adder);
  Asked bad, good;
  ASSERT_TRUE(queue.encode(recording(13, 2), 1, bad.done()).ok());
  EXPECT_EQ(bad.wait().error().message, "unlucky");
  ASSERT_TRUE(queue.encode(recording(1, 2), 1, good.done()).ok());
  EXPECT_TRUE(good.wait().ok());
  EXPECT_EQ(queue.metrics().failed.value(), 1);
  EXPECT_EQ(queue.encode(recording(1, 0), 1, good.done()).error().param, "ref_audio");
}

TEST(VoiceQueue, BoundedAndFair) {
  Adder adder;
  adder.held = true;
  VoiceQueue queue(adder, {.batch = 2, .max_jobs = 4, .max_per_client = 3});
  std::vector<Asked> asked(4);
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(queue.encode(recording(1, 1), 1, asked[i].done()).ok());
  }
  const Error mine = queue.encode(recording(1, 1), 1, asked[3].done()).error();
  EXPECT_EQ(mine.code, ErrorCode::kOverloaded);
  EXPECT_GT(mine.retry_after_s, 0);
  ASSERT_TRUE(queue.encode(recording(1, 1), 2, asked[3].done()).ok());
  EXPECT_EQ(queue.encode(recording(1, 1), 3, asked[3].done()).error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(queue.metrics().rejected.value(), 2);
  // The other client's only recording joins the first turn that has room for two recordings.
  adder.gate.release(2);
  EXPECT_TRUE(asked[3].wait().ok());
  adder.gate.release(2);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(asked[i].wait().ok());
}

/// Recordings are queued, cancelled, or fail. Each gets exactly one result, its own.
TEST(VoiceQueue, EachRecordingEndsOnce) {
  Adder adder;
  std::mt19937 random(13);
  struct Asker {
    std::atomic<int> times = 0;
    std::atomic<bool> ok = false;
    std::atomic<float> sum = 0;
    float expected = 0;
    bool refused = false, cancelled = false, broken = false;
  };
  std::vector<Asker> askers(200);
  {
    VoiceQueue queue(adder, {.batch = 3, .max_jobs = 6, .max_per_client = 3});
    for (Asker& one : askers) {
      const int hundreds = 1 + static_cast<int>(random() % 5);
      one.broken = random() % 10 == 0;
      const float value = one.broken ? 13.f : static_cast<float>(random() % 7);
      one.expected = value * 100 * static_cast<float>(hundreds);
      const auto id = queue.encode(recording(value, hundreds), random() % 4, [&](Result<Voice> v) {
        ++one.times;
        one.ok = v.ok();
        if (v.ok()) one.sum = v.value().find("sum")->f32()[0];
      });
      one.refused = !id.ok();
      if (one.refused) {
        EXPECT_EQ(id.error().code, ErrorCode::kOverloaded);
        EXPECT_GT(id.error().retry_after_s, 0);
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      } else if (random() % 4 == 0) {
        one.cancelled = true;
        queue.cancel(id.value());
      }
    }
    wait_until_empty(queue);
    EXPECT_EQ(queue.metrics().waiting.value(), 0);
  }
  int whole = 0;
  for (const Asker& one : askers) {
    EXPECT_EQ(one.times, one.refused ? 0 : 1);
    if (!one.ok) continue;
    ++whole;
    EXPECT_FALSE(one.broken);
    EXPECT_EQ(one.sum, one.expected);
  }
  EXPECT_GT(whole, 20);
  EXPECT_LE(adder.largest, 3);
}

/// A free place of a turn goes to the client with the fewest places in it, then in order of
/// arrival.
TEST(VoiceQueue, TurnsAreShared) {
  Adder adder;
  adder.held = true;
  VoiceQueue queue(adder, {.batch = 2, .max_jobs = 9});
  std::vector<int> order;
  std::mutex mutex;
  const auto ask = [&](int number, uint64_t client, int hundreds) {
    ASSERT_TRUE(queue
                    .encode(recording(1, hundreds), client,
                            [&order, &mutex, number](Result<Voice>) {
                              const std::lock_guard lock(mutex);
                              order.push_back(number);
                            })
                    .ok());
  };
  ask(0, 1, 1);
  while (!adder.waiting) std::this_thread::yield();  // the first recording is alone in its turn
  ask(1, 1, 2), ask(2, 1, 2), ask(3, 1, 2), ask(4, 2, 2), ask(5, 2, 2);
  adder.gate.release(20);
  wait_until_empty(queue);
  const auto all_reported = [&] {  // the last recording is reported after the queue is empty
    const std::lock_guard lock(mutex);
    return order.size() == 6;
  };
  while (!all_reported()) std::this_thread::yield();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 4, 2, 5, 3}));
}

/// A recording that has begun keeps its place in the turn when another one comes.
TEST(VoiceQueue, ARunningRequestGoesOn) {
  Adder adder;
  adder.held = true;
  VoiceQueue queue(adder, {.batch = 2, .max_jobs = 9});
  std::vector<int> order;
  std::mutex mutex;
  std::vector<std::promise<void>> askers(4);
  const auto ask = [&](int number, uint64_t client, int hundreds) {
    const auto done = [&, number](Result<Voice>) {
      const std::lock_guard lock(mutex);
      order.push_back(number);
      askers[static_cast<size_t>(number)].set_value();
    };
    ASSERT_TRUE(queue.encode(recording(1, hundreds), client, done).ok());
  };
  const auto wait_for_turn = [&] {
    while (!adder.waiting.exchange(false)) std::this_thread::yield();
  };
  ask(0, 9, 1);
  wait_for_turn();
  ask(1, 1, 2), ask(2, 1, 2);
  adder.gate.release();
  wait_for_turn();  // both recordings are of one client
  ask(3, 2, 1);
  adder.gate.release(20);
  for (auto& each : askers) each.get_future().wait();
  EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

}  // namespace
}  // namespace syrinx
