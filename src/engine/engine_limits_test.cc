// Limits of an engine: refused requests, waits, and the limit of requests of one client.
#include <gtest/gtest.h>

#include <fstream>

#include "engine/failing_new_test.h"
#include "engine/machine.h"
#include "engine/testing/ear.h"
#include "engine/testing/idle.h"

namespace syrinx {
namespace {

TEST(Engine, AClientHasNoMoreThanItsShare) {
  EngineOptions options = small();
  options.max_per_client = 2;
  Engine engine(make_toy_pipeline(), options);
  SpeechRequest open = say("", 1);
  open.say.open = true;
  open.terms.client = 42;
  auto ear = std::make_shared<Ear>();
  const auto first = engine.submit(open, ear);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(engine.submit(open, std::make_shared<Ear>()).ok());
  const auto third = engine.submit(open, std::make_shared<Ear>());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(third.error().message, "this client has 2 unfinished requests, the limit is 2");
  SpeechRequest nothing = say("");
  nothing.terms.client = 44;
  for (int i = 0; i < 4; ++i) {  // refused requests do not count against the client's limit
    EXPECT_EQ(engine.submit(nothing, std::make_shared<Ear>()).error().code, ErrorCode::kInvalid);
  }
  SpeechRequest other = say("other");
  other.terms.client = 43;
  EXPECT_TRUE(engine.submit(other, std::make_shared<Ear>()).ok());
  engine.cancel(first.value());
  ear->wait();
  for (int i = 0; i < 100 && !engine.submit(open, std::make_shared<Ear>()).ok(); ++i) {
    ASSERT_LT(i, 99) << "the seat did not come free";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(Engine, RefusesOptionsThatMakeNoSense) {
  EngineOptions options = small();
  options.policy = "nonsense";
  EXPECT_THROW(Engine(make_toy_pipeline(), options), LoadError);
  options = small();
  options.max_batch = 0;
  EXPECT_THROW(Engine(make_toy_pipeline(), options), LoadError);
}

TEST(Engine, RefusesWhatItCannotDo) {
  EngineOptions options = with_pages(4);
  options.max_requests = 2;
  Engine engine(make_toy_pipeline(), options);
  auto ear = std::make_shared<Ear>();
  EXPECT_EQ(engine.submit(say(""), ear).error().code, ErrorCode::kInvalid);
  SpeechRequest huge = say("x");
  huge.terms.max_frames = 4 * KvPool::kPageRows;
  const auto refused = engine.submit(huge, ear);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("131 positions, but there is room for 128"),
            std::string::npos)
      << refused.error().message;
  SpeechRequest talk = say("x");
  talk.say.context.push_back({"0", "hello", {}});
  EXPECT_EQ(engine.submit(talk, ear).error().param, "context");

  SpeechRequest open = say("");
  open.say.open = true;
  open.terms.max_frames = 100;
  auto one = std::make_shared<Ear>(), two = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(open, one).ok());
  const auto second = engine.submit(open, two);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(engine.submit(open, ear).error().code, ErrorCode::kOverloaded);
  engine.cancel(second.value());
  two->wait();
  EXPECT_FALSE(ear->done()) << "a refused request's sink was called";
}

TEST(Engine, LengthAndRepetitionEndAStream) {
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest bounded = say(long_text(100, 1));
  bounded.terms.max_frames = 30;
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(bounded, ear).ok());
  EXPECT_EQ(ear->wait().reason, FinishReason::kLength);
  EXPECT_EQ(ear->wait().frames, 30);

  EngineOptions strict = small();
  strict.repetition_s = 0.2;  // 10 frames
  Engine guard(make_toy_pipeline(), strict);
  SpeechRequest stuck = say(std::string(300, 'a'));
  stuck.sampling.temperature = 0.f;
  auto loop = std::make_shared<Ear>();
  ASSERT_TRUE(guard.submit(stuck, loop).ok());
  EXPECT_EQ(loop->wait().reason, FinishReason::kRepetition);
  EXPECT_LT(loop->wait().frames, 300);
}

TEST(Engine, ASlowReaderPausesOnlyItself) {
  EngineOptions options = small();
  options.max_unread_s = 1;
  Engine engine(make_toy_pipeline(), options);
  auto slow = std::make_shared<Ear>();
  slow->unread = 2;
  ASSERT_TRUE(engine.submit(say(long_text(400, 1)), slow).ok());
  auto quick = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say(long_text(400, 2)), quick).ok());
  EXPECT_EQ(quick->wait().reason, FinishReason::kStop);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(slow->done());
  slow->unread = 0;
  EXPECT_EQ(slow->wait().reason, FinishReason::kStop);
  EXPECT_EQ(slow->samples(), alone(say(long_text(400, 1))));
}

/// Counts heap allocations between two chunks of a running stream.
class AllocationCounter : public Sink {
 public:
  explicit AllocationCounter(std::atomic<bool>& all_submitted) : all_submitted_(all_submitted) {}
  void audio(std::span<const float>) override {
    all_submitted_.wait(false);  // allocations in submit() must not count
    ++chunks_;
    if (chunks_ == 10) first = allocations::count();
    if (chunks_ == 50) last = allocations::count();
  }
  void finished(const Outcome&) override { done = true; }
  int64_t first = -1, last = -2;
  std::atomic<bool> done{false};

 private:
  std::atomic<bool>& all_submitted_;
  int chunks_ = 0;
};

TEST(Engine, ASteadyStepAllocatesNothing) {
  std::atomic<bool> all_submitted{false};
  // Uses one executor, because a second one would allocate scratch memory at an unknown time.
  EngineOptions options = small();
  options.executors = Executors::kShared;
  Engine engine(make_toy_pipeline(), options);
  std::vector<std::shared_ptr<AllocationCounter>> sinks;
  SpeechRequest request = say(long_text(900, 1));
  for (int i = 0; i < 4; ++i) {
    sinks.push_back(std::make_shared<AllocationCounter>(all_submitted));
    request.sampling.seed = i;
    ASSERT_TRUE(engine.submit(request, sinks.back()).ok());
  }
  all_submitted = true;
  all_submitted.notify_all();
  ASSERT_TRUE(wait_until_idle(engine, 30));
  for (const auto& sink : sinks) EXPECT_EQ(sink->first, sink->last);
}

/// Makes one allocation of the engine's thread fail: the n-th after its first chunk.
class MemoryTaker : public Sink {
 public:
  explicit MemoryTaker(int64_t n) : n_(n) {}
  void audio(std::span<const float>) override {
    if (n_ > 0) allocations::fail_after(std::exchange(n_, 0));
  }
  void finished(const Outcome&) override {
    failed = allocations::fail_after(0);
    done = true;
    done.notify_all();
  }
  std::atomic<bool> failed{false}, done{false};

 private:
  int64_t n_;
};

/// I8: after any failed allocation on the engine's thread, the thread continues and serves the next
/// request.
TEST(Engine, I8_ItsThreadOutlivesAnAllocationThatFails) {
  EngineOptions options = small();
  options.threads = 1;  // then batches run on the engine's thread, too
  const std::vector<float> want = alone(say("the next one"));
  int failed = 0;
  for (int64_t n = 1; n < 60; ++n) {
    Engine engine(make_toy_pipeline(), options);
    const auto taker = std::make_shared<MemoryTaker>(n);
    const auto beside = std::make_shared<Ear>(), after = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(say("beside " + long_text(60, 1)), beside).ok());
    ASSERT_TRUE(engine.submit(say(long_text(240, 2)), taker).ok());
    taker->done.wait(false);
    failed += taker->failed ? 1 : 0;
    beside->wait();  // the other request continues, or fails with the batch
    ASSERT_TRUE(engine.submit(say("the next one"), after).ok());
    EXPECT_EQ(after->wait().reason, FinishReason::kStop) << n << after->wait().error.message;
    EXPECT_EQ(after->samples(), want) << n;
  }
  EXPECT_GT(failed, 0);
}

TEST(Engine, EndedRequestsDelayNoOther) {
  EngineOptions options = small();
  options.max_requests = 2;
  Engine engine(make_toy_pipeline(), options);
  for (uint64_t i = 0; i < 60; ++i) {
    const auto ear = std::make_shared<Ear>();
    const auto id = engine.submit(say(long_text(60, 1), i), ear);
    ASSERT_TRUE(id.ok()) << i << ": " << id.error().message;
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop);
    EXPECT_EQ(engine.metrics().predicted_wait_s.value(), 0);
  }
}

TEST(Engine, StopsAtTheMostAudio) {
  EngineOptions options = small();
  options.max_audio_s = 0.25;
  Engine engine(make_toy_pipeline(), options);
  const SpeechRequest request = say(long_text(200, 3), 3);
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(request, ear).ok());
  EXPECT_EQ(ear->wait().reason, FinishReason::kLength);
  const auto count =
      static_cast<size_t>(std::llround(0.25 * make_toy_pipeline()->info().speech.sample_rate));
  const std::vector<float> all = alone(request);
  ASSERT_GT(all.size(), count);
  EXPECT_EQ(ear->samples(), std::vector<float>(all.begin(), all.begin() + count));
  EXPECT_DOUBLE_EQ(ear->wait().audio_s, 0.25);
  EXPECT_TRUE(all_pages_free(engine));
  auto short_one = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("a", 1), short_one).ok());
  EXPECT_EQ(short_one->wait().reason, FinishReason::kStop);
}

/// A client that does not read its audio keeps its request, but holds no seat.
TEST(Engine, NoRequestWaitsLongerThanPromised) {
  EngineOptions options = small();
  options.max_wait_s = 0.3;
  Engine engine(make_toy_pipeline(), options);
  std::vector<std::shared_ptr<Ear>> slow;
  for (int i = 0; i < 60; ++i) {
    slow.push_back(std::make_shared<Ear>());
    slow.back()->unread = 1000;
    ASSERT_TRUE(engine.submit(say(long_text(900, i), i), slow.back()).ok());
  }
  for (const auto& ear : slow) ear->wait_for_audio();
  for (int i = 0; i < 20; ++i) {
    const auto begun = std::chrono::steady_clock::now();
    auto ear = std::make_shared<Ear>();
    if (!engine.submit(say("good"), ear).ok()) continue;  // refused at once
    ear->wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    EXPECT_LT(took.count(), 2) << "the promise was 0.3 s";
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << "paused requests held all seats";
  }
}

TEST(Engine, CancelsWhatIsUnfinishedAtItsEnd) {
  auto engine = std::make_unique<Engine>(make_toy_pipeline(), small());
  SpeechRequest open = say("abc");
  open.say.open = true;
  auto orphan = std::make_shared<Ear>();
  ASSERT_TRUE(engine->submit(open, orphan).ok());
  EXPECT_EQ(engine->stats().requests, 1);
  engine.reset();
  EXPECT_EQ(orphan->wait().reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace syrinx
