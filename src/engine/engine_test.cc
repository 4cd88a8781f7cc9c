#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <fstream>
#include <mutex>
#include <thread>

#include "engine/failing_new_test.h"
#include "engine/machine.h"
#include "model/toy/duet.h"
#include "model/toy/latent.h"
#include "model/toy/toy.h"

namespace syrinx {
namespace {

/// Collects what a client would hear.
class Ear : public Sink {
 public:
  void audio(std::span<const float> samples) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(done_) << "audio after the end";
    samples_.insert(samples_.end(), samples.begin(), samples.end());
    ++chunks_;
    changed_.notify_all();
  }
  void text(std::string_view piece, std::span<const ScoredToken>) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(done_) << "text after the end";
    text_ += piece;
  }
  void finished(const Outcome& outcome) override {
    std::lock_guard lock(mutex_);
    EXPECT_FALSE(done_) << "finished twice";
    outcome_ = outcome;
    done_ = true;
    changed_.notify_all();
  }
  double unread_s() const override { return unread; }

  const Outcome& wait() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, std::chrono::seconds(30), [&] { return done_; }));
    return outcome_;
  }
  void wait_for_audio() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(30), [&] { return chunks_ > 0 || done_; }));
  }
  bool done() {
    std::lock_guard lock(mutex_);
    return done_;
  }
  std::vector<float> samples() {
    std::lock_guard lock(mutex_);
    return samples_;
  }
  std::string text() {
    std::lock_guard lock(mutex_);
    return text_;
  }
  std::atomic<double> unread{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> samples_;
  std::string text_;
  int chunks_ = 0;
  bool done_ = false;
  Outcome outcome_;
};

/// A step of a request that ended beside it may still be running; its pages come back after it.
bool all_pages_free(const Engine& engine) {
  for (int i = 0; i < 1000; ++i) {
    if (engine.stats().pages_free == engine.stats().pages) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

EngineOptions small() {
  EngineOptions options;
  options.threads = 2;
  options.kv_bytes = 1 << 20;
  options.repetition_s = 0;
  return options;
}

/// Exactly this many pages.
EngineOptions with_pages(int pages) {
  EngineOptions options = small();
  options.kv_bytes = pages * KvPool::page_bytes({1, 2, 8, DType::kF32});
  return options;
}

SpeechRequest say(std::string text, uint64_t seed = 1) {
  SpeechRequest request;
  request.text = std::move(text);
  request.seed = seed;
  return request;
}

std::string long_text(int bytes, int salt) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>('a' + (i * 7 + salt) % 26);
  return text;
}

std::vector<float> alone(const SpeechRequest& request, EngineOptions options = small()) {
  Engine engine(make_toy_pipeline(), options);
  auto ear = std::make_shared<Ear>();
  EXPECT_TRUE(engine.submit(request, ear).ok());
  EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
  return ear->samples();
}

TEST(Engine, SpeaksOneStepAByteAndReports) {
  Engine engine(make_toy_pipeline(), small());
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("hello"), ear).ok());
  const Outcome& outcome = ear->wait();
  EXPECT_EQ(outcome.reason, FinishReason::kStop);
  EXPECT_EQ(outcome.frames, 5);
  EXPECT_EQ(ear->samples().size(), 5u * 20);
  EXPECT_NEAR(outcome.audio_s, 0.1, 1e-9);
  EXPECT_GT(outcome.first_audio_s, 0);
  EXPECT_GE(outcome.total_s, outcome.first_audio_s);
}

TEST(Engine, SameSamplesAloneAndInAnyBatch) {
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 16; ++i) {
    requests.push_back(say(long_text(40 + 17 * i, i), 100 + i));
    if (i % 3 == 0) requests.back().temperature = 0.f;
    if (i % 4 == 1) requests.back().text[20] = '|';
  }
  Engine engine(make_toy_pipeline(), small());
  std::vector<std::shared_ptr<Ear>> ears;
  for (const SpeechRequest& request : requests) {
    ears.push_back(std::make_shared<Ear>());
    ASSERT_TRUE(engine.submit(request, ears.back()).ok());
  }
  for (size_t i = 0; i < requests.size(); ++i) {
    ears[i]->wait();
    EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
  }
}

TEST(Engine, ASegmentMayBeginNewStreams) {
  SpeechRequest request = say("abcdefghijk@lmnopqr@s");
  request.temperature = 0.f;
  std::vector<float> expected;
  int64_t frames = 0;
  for (const char* part : {"abcdefghijk", "lmnopqr", "s"}) {
    SpeechRequest one = request;
    one.text = part;
    const std::vector<float> samples = alone(one);
    expected.insert(expected.end(), samples.begin(), samples.end());
    frames += std::ssize(one.text);
  }
  Engine engine(make_toy_pipeline(), small());
  std::vector<std::shared_ptr<Ear>> ears(5);
  for (auto& ear : ears) {
    ear = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(request, ear).ok());
  }
  for (const auto& ear : ears) {
    EXPECT_EQ(ear->wait().frames, frames);
    EXPECT_EQ(ear->samples(), expected);
  }
  request.text = "abcdefghijk|lmnopqr|s";
  EXPECT_NE(alone(request), expected) << "one stream hears what is beside it";
}

/// Every way of running gives the same samples.
TEST(Engine, SameSamplesWithAnyPolicyOnAnyExecutors) {
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 12; ++i) {
    requests.push_back(say(long_text(60 + 23 * i, i), 100 + i));
    requests.back().max_frames = 330;
    if (i % 4 == 1) requests.back().text[30] = '|';
    if (i % 3 == 2) requests.back().guidance = 1.5f;
    if (i % 2 == 0) requests.back().instructions = long_text(40 + i, 3);
  }
  std::vector<std::vector<float>> expected;
  for (const SpeechRequest& request : requests) expected.push_back(alone(request));
  for (const char* policy : {"streaming", "throughput", "fcfs"}) {
    for (Executors executors : {Executors::kShared, Executors::kSplit, Executors::kEach}) {
      EngineOptions options = with_pages(40);
      options.policy = policy;
      options.executors = executors;
      options.threads = 3;
      options.max_batch = 5;
      options.max_prefill_rows = 17;
      Engine engine(make_toy_pipeline(), options);
      std::vector<std::shared_ptr<Ear>> ears;
      for (const SpeechRequest& request : requests) {
        ears.push_back(std::make_shared<Ear>());
        ASSERT_TRUE(engine.submit(request, ears.back()).ok());
      }
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
        EXPECT_EQ(ears[i]->samples(), expected[i])
            << policy << " " << static_cast<int>(executors) << " request " << i;
      }
      EXPECT_TRUE(all_pages_free(engine));
    }
  }
}

TEST(Engine, GuidanceChangesTheSpeechAndScaleOneDoesNot) {
  SpeechRequest plain = say(long_text(80, 2), 7), one = plain, strong = plain;
  plain.temperature = one.temperature = strong.temperature = 0.f;
  one.guidance = 1.f;
  strong.guidance = 3.f;
  // u + 1 (c - u) is c but for rounding, which the greedy choice does not see here.
  EXPECT_EQ(alone(plain), alone(one));
  EXPECT_NE(alone(plain), alone(strong));
}

TEST(Engine, AGuidedFaultEndsTheRequestOnly) {
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest bad = say("abc~def"), good = say(long_text(60, 1));
  bad.guidance = good.guidance = 2.f;
  auto first = std::make_shared<Ear>(), second = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(bad, first).ok());
  ASSERT_TRUE(engine.submit(good, second).ok());
  EXPECT_EQ(first->wait().reason, FinishReason::kError);
  EXPECT_EQ(second->wait().reason, FinishReason::kStop);
  EXPECT_EQ(second->samples(), alone(good));
}

TEST(Engine, EqualPrefixesAreComputedOnceAndSoundTheSame) {
  EngineOptions apart = small();
  apart.share_prefixes = false;
  for (Executors executors : {Executors::kShared, Executors::kEach}) {
    EngineOptions options = small();
    options.executors = executors;
    Engine engine(make_toy_pipeline(), options);
    for (int i = 0; i < 6; ++i) {
      SpeechRequest request = say(long_text(50, i), i);
      request.instructions = long_text(100, 5);
      if (i >= 3) request.instructions += long_text(20, i);  // differs in the middle of a page
      if (i % 2 == 1) request.guidance = 2.f;
      auto ear = std::make_shared<Ear>();
      ASSERT_TRUE(engine.submit(request, ear).ok());
      EXPECT_EQ(ear->wait().reason, FinishReason::kStop);
      EXPECT_EQ(ear->samples(), alone(request, apart)) << i;
    }
    EXPECT_GE(engine.metrics().prefix_rows.value(), 5 * 96);
    EXPECT_TRUE(all_pages_free(engine));
  }
}

TEST(Engine, PreemptionAndSharedPrefixesGetAlong) {
  Engine engine(make_toy_pipeline(), with_pages(16));
  std::vector<std::shared_ptr<Ear>> ears;
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(say(long_text(120, i), i));
    requests.back().instructions = long_text(70, 1) + long_text(30, i % 3);
    requests.back().max_frames = 125;
    if (i % 2) requests.back().guidance = 1.4f;
    ears.push_back(std::make_shared<Ear>());
    ASSERT_TRUE(engine.submit(requests.back(), ears.back()).ok());
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
    EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
  }
  EXPECT_GT(engine.stats().preemptions, 0) << "the test did not force any";
  EXPECT_GT(engine.metrics().prefix_rows.value(), 0);
}

TEST(Engine, CancelsAndLateTextWhileBatchesAreInFlight) {
  EngineOptions options = small();
  options.executors = Executors::kEach;
  Engine engine(make_toy_pipeline(), options);
  for (int round = 0; round < 30; ++round) {
    SpeechRequest open = say("", 4);
    open.text_open = true;
    auto doomed = std::make_shared<Ear>(), kept = std::make_shared<Ear>();
    const auto a = engine.submit(open, doomed), b = engine.submit(open, kept);
    const std::string text = long_text(60, round);
    for (size_t i = 0; i < text.size(); i += 5) {
      engine.append_text(a.value(), text.substr(i, 5), false);
      engine.append_text(b.value(), text.substr(i, 5), i + 5 >= text.size());
    }
    engine.cancel(a.value());
    EXPECT_EQ(doomed->wait().reason, FinishReason::kCancelled);
    EXPECT_EQ(kept->wait().reason, FinishReason::kStop);
    if (round % 10 == 0) {
      EXPECT_EQ(kept->samples(), alone(say(text, 4)));
    }
  }
  EXPECT_TRUE(engine.drain(30));
  EXPECT_TRUE(all_pages_free(engine));
}

TEST(Engine, AClientHasNoMoreThanItsShare) {
  EngineOptions options = small();
  options.max_per_client = 2;
  Engine engine(make_toy_pipeline(), options);
  SpeechRequest open = say("", 1);
  open.text_open = true;
  open.client = 42;
  auto ear = std::make_shared<Ear>();
  const auto first = engine.submit(open, ear);
  ASSERT_TRUE(first.ok());
  ASSERT_TRUE(engine.submit(open, std::make_shared<Ear>()).ok());
  const auto third = engine.submit(open, std::make_shared<Ear>());
  ASSERT_FALSE(third.ok());
  EXPECT_EQ(third.error().code, ErrorCode::kOverloaded);
  EXPECT_EQ(third.error().message, "this client has 2 unfinished requests, the limit is 2");
  SpeechRequest nothing = say("");
  nothing.client = 44;
  for (int i = 0; i < 4; ++i) {  // what is refused is no share of anything
    EXPECT_EQ(engine.submit(nothing, std::make_shared<Ear>()).error().code, ErrorCode::kInvalid);
  }
  SpeechRequest other = say("other");
  other.client = 43;
  EXPECT_TRUE(engine.submit(other, std::make_shared<Ear>()).ok());
  engine.cancel(first.value());
  ear->wait();
  for (int i = 0; i < 100 && !engine.submit(open, std::make_shared<Ear>()).ok(); ++i) {
    ASSERT_LT(i, 99) << "the place did not come free";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

TEST(Engine, APairNeedsABatchOfTwo) {
  EngineOptions options = small();
  options.max_batch = 1;
  Engine engine(make_toy_pipeline(), options);
  SpeechRequest request = say(long_text(40, 1));
  request.guidance = 2.f;
  EXPECT_EQ(engine.submit(request, std::make_shared<Ear>()).error().code, ErrorCode::kUnsupported);
  request.guidance.reset();
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(request, ear).ok());
  ear->wait();
  EXPECT_EQ(ear->samples(), alone(request));
}

TEST(Engine, RefusesOptionsThatMakeNoSense) {
  EngineOptions options = small();
  options.policy = "nonsense";
  EXPECT_THROW(Engine(make_toy_pipeline(), options), LoadError);
  options = small();
  options.max_batch = 0;
  EXPECT_THROW(Engine(make_toy_pipeline(), options), LoadError);
}

TEST(Engine, SeedsMatter) {
  EXPECT_EQ(alone(say(long_text(50, 0), 5)), alone(say(long_text(50, 0), 5)));
  EXPECT_NE(alone(say(long_text(50, 0), 5)), alone(say(long_text(50, 0), 6)));
}

TEST(Engine, OneThreadOrManyPromptInPiecesOrWhole) {
  const SpeechRequest request = say(long_text(200, 3));
  EngineOptions other = small();
  other.threads = 1;
  other.max_prefill_rows = 1;
  EXPECT_EQ(alone(request), alone(request, other));
}

TEST(Engine, PreemptionLosesNothing) {
  // 14 pages of 32 positions; 8 requests of up to 7 pages each cannot all stay.
  Engine engine(make_toy_pipeline(), with_pages(14));
  std::vector<std::shared_ptr<Ear>> ears;
  std::vector<SpeechRequest> requests;
  for (int i = 0; i < 8; ++i) {
    requests.push_back(say(long_text(205, i), i));
    requests.back().max_frames = 210;
    ears.push_back(std::make_shared<Ear>());
    ASSERT_TRUE(engine.submit(requests.back(), ears.back()).ok());
  }
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop);
    EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
  }
  EXPECT_GT(engine.stats().preemptions, 0) << "the test did not force any";
}

TEST(Engine, TextThatArrivesLateSoundsTheSame) {
  const std::string text = long_text(60, 9);
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest request = say("", 4);
  request.text_open = true;
  auto late = std::make_shared<Ear>();
  const auto id = engine.submit(request, late);
  ASSERT_TRUE(id.ok());
  for (size_t i = 0; i < text.size(); i += 7) {
    // Others run while this one waits without holding up anybody.
    auto other = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(say("other"), other).ok());
    other->wait();
    EXPECT_FALSE(late->done());
    engine.append_text(id.value(), text.substr(i, 7), i + 7 >= text.size());
  }
  EXPECT_EQ(late->wait().reason, FinishReason::kStop);
  EXPECT_EQ(late->samples(), alone(say(text, 4)));
}

TEST(Engine, CancelEndsOneRequestOnly) {
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest endless = say("", 1);
  endless.text_open = true;
  auto first = std::make_shared<Ear>(), second = std::make_shared<Ear>();
  const auto a = engine.submit(endless, first);
  const auto b = engine.submit(endless, second);
  engine.append_text(a.value(), long_text(100, 1), false);
  engine.append_text(b.value(), long_text(100, 1).substr(0, 99), false);
  first->wait_for_audio();
  engine.cancel(a.value());
  EXPECT_EQ(first->wait().reason, FinishReason::kCancelled);
  EXPECT_FALSE(second->done());
  engine.append_text(b.value(), long_text(100, 1).substr(99), true);
  EXPECT_EQ(second->wait().reason, FinishReason::kStop);
  EXPECT_EQ(second->samples(), alone(say(long_text(100, 1), 1)));
  engine.cancel(12345);  // nobody
}

TEST(Engine, FaultsStayWithTheirBatchOrRow) {
  Engine engine(make_toy_pipeline(), small());
  auto nan = std::make_shared<Ear>(), good = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("abc~def"), nan).ok());
  ASSERT_TRUE(engine.submit(say(long_text(80, 2)), good).ok());
  EXPECT_EQ(nan->wait().reason, FinishReason::kError);
  EXPECT_EQ(nan->wait().error.message, "the logits are not finite");
  EXPECT_EQ(good->wait().reason, FinishReason::kStop);
  EXPECT_EQ(good->samples(), alone(say(long_text(80, 2))));

  auto broken = std::make_shared<Ear>(), after = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("abc^def"), broken).ok());
  EXPECT_EQ(broken->wait().reason, FinishReason::kError);
  EXPECT_NE(broken->wait().error.message.find("stumbled"), std::string::npos);
  ASSERT_TRUE(engine.submit(say("fine"), after).ok());
  EXPECT_EQ(after->wait().reason, FinishReason::kStop);
  EXPECT_TRUE(all_pages_free(engine));
}

TEST(Engine, RefusesWhatItCannotDo) {
  EngineOptions options = with_pages(4);
  options.max_requests = 2;
  Engine engine(make_toy_pipeline(), options);
  auto ear = std::make_shared<Ear>();
  EXPECT_EQ(engine.submit(say(""), ear).error().code, ErrorCode::kInvalid);
  SpeechRequest huge = say("x");
  huge.max_frames = 4 * KvPool::kPageRows;
  const auto refused = engine.submit(huge, ear);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("131 positions, there is room for 128"), std::string::npos)
      << refused.error().message;
  SpeechRequest talk = say("x");
  talk.context.push_back({"0", "hello", {}});
  EXPECT_EQ(engine.submit(talk, ear).error().param, "context");

  SpeechRequest open = say("");
  open.text_open = true;
  open.max_frames = 100;
  auto one = std::make_shared<Ear>(), two = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(open, one).ok());
  const auto second = engine.submit(open, two);
  ASSERT_TRUE(second.ok());
  EXPECT_EQ(engine.submit(open, ear).error().code, ErrorCode::kOverloaded);
  engine.cancel(second.value());
  two->wait();
  EXPECT_FALSE(ear->done()) << "a refused request's sink was called";
}

TEST(Engine, CountsWhatItDoes) {
  EngineOptions options = small();
  options.trace_file = ::testing::TempDir() + "syrinx_engine_trace.json";
  {
    Engine engine(make_toy_pipeline(), options);
    auto ear = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(say(long_text(100, 1)), ear).ok());
    ear->wait();
    ASSERT_TRUE(engine.drain(10));
    std::string text;
    const NamedMetrics named{"a \"toy\"", &engine.metrics()};
    write_prometheus({&named, 1}, text);
    EXPECT_NE(text.find("syrinx_requests_accepted_total{model=\"a \\\"toy\\\"\"} 1\n"),
              std::string::npos);
    EXPECT_NE(text.find("syrinx_first_audio_seconds_count{model=\"a \\\"toy\\\"\"} 1\n"),
              std::string::npos);
    EXPECT_NE(text.find("syrinx_audio_seconds_total{model=\"a \\\"toy\\\"\"} 2\n"),
              std::string::npos)
        << text;
    EXPECT_EQ(engine.stats().finished, 1);
    EXPECT_GT(engine.metrics().busy_s.value(), 0);
    EXPECT_GT(engine.costs().front().of(1), 0);
  }
  std::ifstream file(options.trace_file);
  const std::string trace((std::istreambuf_iterator<char>(file)), {});
  EXPECT_NE(trace.find("\"name\":\"vocoder\",\"pid\":1"), std::string::npos);
  EXPECT_NE(trace.find("\"reason\":\"stop\""), std::string::npos);
  EXPECT_NE(trace.find("\"events_left_out\":\"0\""), std::string::npos);
}

TEST(Engine, LengthAndRepetitionEndAStream) {
  Engine engine(make_toy_pipeline(), small());
  SpeechRequest bounded = say(long_text(100, 1));
  bounded.max_frames = 30;
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(bounded, ear).ok());
  EXPECT_EQ(ear->wait().reason, FinishReason::kLength);
  EXPECT_EQ(ear->wait().frames, 30);

  EngineOptions strict = small();
  strict.repetition_s = 0.2;  // 10 frames
  Engine guard(make_toy_pipeline(), strict);
  SpeechRequest stuck = say(std::string(300, 'a'));
  stuck.temperature = 0.f;
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
    all_submitted_.wait(false);  // what submit() allocates must not count
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
  // One executor: each other one grows its scratch when it first meets a stage, whenever that is.
  EngineOptions options = small();
  options.executors = Executors::kShared;
  Engine engine(make_toy_pipeline(), options);
  std::vector<std::shared_ptr<AllocationCounter>> sinks;
  SpeechRequest request = say(long_text(900, 1));
  for (int i = 0; i < 4; ++i) {
    sinks.push_back(std::make_shared<AllocationCounter>(all_submitted));
    request.seed = i;
    ASSERT_TRUE(engine.submit(request, sinks.back()).ok());
  }
  all_submitted = true;
  all_submitted.notify_all();
  ASSERT_TRUE(engine.drain(30));
  for (const auto& sink : sinks) EXPECT_EQ(sink->first, sink->last);
}

/// Makes an allocation of the engine's thread fail, the n-th after its first chunk.
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

/// I8: whatever lacks memory on the engine's thread, it lives, and serves the next one.
TEST(Engine, I8_ItsThreadOutlivesAnAllocationThatFails) {
  EngineOptions options = small();
  options.threads = 1;  // batches run on the engine's thread, too
  const std::vector<float> want = alone(say("the next one"));
  int failed = 0;
  for (int64_t n = 1; n < 60; ++n) {
    Engine engine(make_toy_pipeline(), options);
    const auto taker = std::make_shared<MemoryTaker>(n);
    const auto beside = std::make_shared<Ear>(), after = std::make_shared<Ear>();
    ASSERT_TRUE(engine.submit(say("beside " + long_text(60, 1)), beside).ok());
    ASSERT_TRUE(engine.submit(say(long_text(60, 2)), taker).ok());
    taker->done.wait(false);
    failed += taker->failed ? 1 : 0;
    beside->wait();  // it goes on, or fails with the batch
    ASSERT_TRUE(engine.submit(say("the next one"), after).ok());
    EXPECT_EQ(after->wait().reason, FinishReason::kStop) << n << after->wait().error.message;
    EXPECT_EQ(after->samples(), want) << n;
  }
  EXPECT_GT(failed, 0);
}

/// Requests that have ended keep nobody waiting, however many they were.
TEST(Engine, WhoHasEndedIsWaitedForByNobody) {
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

/// Several models on one machine: nobody's samples change, and models come and go meanwhile.
TEST(Engine, SharesItsMachineWithOthers) {
  for (Executors executors : {Executors::kShared, Executors::kSplit, Executors::kEach}) {
    EngineOptions options = with_pages(40);
    options.executors = executors;
    const auto machine = std::make_shared<Machine>(options);
    Engine first(make_toy_pipeline(), options, machine);
    Engine second(make_toy_pipeline({.steps_per_byte = 2}), options, machine);
    auto third = std::make_unique<Engine>(make_toy_pipeline(), options, machine);
    std::vector<std::shared_ptr<Ear>> ears, doomed;
    std::vector<SpeechRequest> requests;
    for (int i = 0; i < 12; ++i) {
      requests.push_back(say(long_text(60 + 13 * i, i), i));
      requests.back().max_frames = 450;
      ears.push_back(std::make_shared<Ear>());
      doomed.push_back(std::make_shared<Ear>());
      ASSERT_TRUE((i % 2 ? second : first).submit(requests.back(), ears.back()).ok());
      SpeechRequest open = requests.back();
      open.text_open = true;
      ASSERT_TRUE(third->submit(open, doomed.back()).ok());
    }
    third.reset();  // waits until its requests have ended
    for (const auto& ear : doomed) EXPECT_TRUE(ear->done());
    for (int i = 0; i < 12; ++i) {
      EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
      if (i % 2 == 0) {
        EXPECT_EQ(ears[i]->samples(), alone(requests[i])) << "request " << i;
      } else {
        EXPECT_EQ(ears[i]->samples().size(), 2 * 20 * requests[i].text.size());
      }
    }
    Engine late(make_toy_pipeline(), options, machine);
    auto ear = std::make_shared<Ear>();
    ASSERT_TRUE(late.submit(requests[0], ear).ok());
    ear->wait();
    EXPECT_EQ(ear->samples(), alone(requests[0]));
  }
}

/// Two AR nodes, of which one feeds the other: heard and read, the same under any conditions.
TEST(Engine, AThinkerFeedsATalker) {
  struct Said {
    std::string text;
    std::vector<float> samples;
    bool operator==(const Said&) const = default;
  };
  const auto run = [](const SpeechRequest& request, EngineOptions options) {
    Engine engine(make_duet_pipeline(), options);
    auto ear = std::make_shared<Ear>();
    EXPECT_TRUE(engine.submit(request, ear).ok());
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
    EXPECT_EQ(ear->wait().prompt_tokens, static_cast<int>(request.text.size()));
    EXPECT_EQ(ear->wait().completion_tokens, static_cast<int>(request.text.size()));
    return Said{ear->text(), ear->samples()};
  };
  EngineOptions options = small();
  options.executors = Executors::kShared;
  std::vector<SpeechRequest> requests;
  std::vector<Said> expected;
  for (int i = 0; i < 12; ++i) {
    requests.push_back(say(long_text(1 + 17 * i, i), 50 + i));
    expected.push_back(run(requests.back(), options));
    EXPECT_EQ(expected.back().text.size(), requests.back().text.size());
    EXPECT_EQ(expected.back().samples.size(), 2 * 10 * requests.back().text.size());
  }
  for (Executors executors : {Executors::kSplit, Executors::kEach}) {
    for (const int pages : {200, 26}) {
      EngineOptions other = with_pages(pages);
      other.executors = executors;
      other.threads = 3;
      other.max_batch = 5;
      other.max_prefill_rows = 13;
      Engine engine(make_duet_pipeline(), other);
      std::vector<std::shared_ptr<Ear>> ears;
      for (const SpeechRequest& request : requests) {
        ears.push_back(std::make_shared<Ear>());
        ASSERT_TRUE(engine.submit(request, ears.back()).ok());
      }
      const auto gone = std::make_shared<Ear>();
      engine.cancel(engine.submit(requests.back(), gone).value());
      EXPECT_EQ(gone->wait().reason, FinishReason::kCancelled);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
        EXPECT_EQ((Said{ears[i]->text(), ears[i]->samples()}), expected[i]) << "request " << i;
      }
      if (pages < 100) {
        EXPECT_GT(engine.stats().preemptions, 0) << "the test did not force any";
      }
      EXPECT_TRUE(all_pages_free(engine));
    }
  }
}

/// Steps that yield latents, thinking that nothing guides before speech that is guided.
TEST(Engine, LatentsAndGuidanceByPhase) {
  const auto model = make_latent_pipeline();
  const auto run = [&](const SpeechRequest& request, const EngineOptions& options) {
    Engine engine(model, options);
    auto ear = std::make_shared<Ear>();
    EXPECT_TRUE(engine.submit(request, ear).ok());
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
    return std::pair(ear->samples(), engine.metrics().stages[0].units.value());
  };
  std::vector<SpeechRequest> requests;
  std::vector<std::vector<float>> expected;
  for (int i = 0; i < 12; ++i) {
    SpeechRequest request = say(long_text(3 + 11 * i, i), 90 + i);
    if (i % 3 > 0) request.guidance = i % 3 == 1 ? 2.f : 1.f;
    requests.push_back(request);
    const auto [samples, rows] = run(request, small());
    expected.push_back(samples);
    const size_t length = request.text.size(), steps = kLatentThoughts + kLatentsAByte * length;
    EXPECT_EQ(samples.size(), kLatentSamples * kLatentsAByte * length);
    // Its own rows but for the last step's, and those of a companion that speech needs.
    const size_t own = length + steps - 1;
    EXPECT_EQ(rows, i % 3 == 1 ? own + own + 2 : own) << "request " << i;
    if (i % 3 > 0) {
      request.guidance.reset();
      EXPECT_EQ(run(request, small()).first == samples, i % 3 == 2) << "scale 1 is none";
    }
  }
  for (Executors executors : {Executors::kShared, Executors::kEach}) {
    for (const int pages : {200, 42}) {
      EngineOptions options = with_pages(pages);
      options.executors = executors;
      options.max_batch = 5;
      options.max_prefill_rows = 13;
      Engine engine(model, options);
      std::vector<std::shared_ptr<Ear>> ears;
      for (const SpeechRequest& request : requests) {
        ears.push_back(std::make_shared<Ear>());
        ASSERT_TRUE(engine.submit(request, ears.back()).ok());
      }
      const auto broken = std::make_shared<Ear>();
      ASSERT_TRUE(engine.submit(say("ab^c", 1), broken).ok());
      EXPECT_EQ(broken->wait().reason, FinishReason::kError);
      EXPECT_NE(broken->wait().error.message.find("not finite"), std::string::npos);
      for (size_t i = 0; i < requests.size(); ++i) {
        EXPECT_EQ(ears[i]->wait().reason, FinishReason::kStop) << ears[i]->wait().error.message;
        EXPECT_EQ(ears[i]->samples(), expected[i]) << "request " << i;
      }
      if (pages < 100) {
        EXPECT_GT(engine.stats().preemptions, 0) << "the test did not force any";
      }
      EXPECT_TRUE(all_pages_free(engine));
    }
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
      static_cast<size_t>(std::llround(0.25 * make_toy_pipeline()->info().sample_rate));
  const std::vector<float> all = alone(request);
  ASSERT_GT(all.size(), count);
  EXPECT_EQ(ear->samples(), std::vector<float>(all.begin(), all.begin() + count));
  EXPECT_DOUBLE_EQ(ear->wait().audio_s, 0.25);
  EXPECT_TRUE(all_pages_free(engine));
  auto short_one = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit(say("a", 1), short_one).ok());
  EXPECT_EQ(short_one->wait().reason, FinishReason::kStop);
}

TEST(Engine, PromptsMayBeMadeOnAHostThread) {
  Engine engine(make_toy_pipeline(), small());
  auto bad = std::make_shared<Ear>();
  ASSERT_TRUE(engine.submit_soon(say(""), bad).ok()) << "what is wrong comes to the sink";
  EXPECT_EQ(bad->wait().reason, FinishReason::kError);
  EXPECT_EQ(bad->wait().error.code, ErrorCode::kInvalid);
  SpeechRequest wrong = say("x");
  wrong.speed = 7;
  EXPECT_FALSE(engine.submit_soon(wrong, bad).ok()) << "but what PipelineInfo says comes at once";
  for (int round = 0; round < 20; ++round) {
    SpeechRequest open = say("", 4);
    open.text_open = true;
    auto doomed = std::make_shared<Ear>(), kept = std::make_shared<Ear>();
    const auto a = engine.submit_soon(open, doomed), b = engine.submit_soon(open, kept);
    engine.append_text(b.value(), "some te", false);
    engine.cancel(a.value());
    engine.append_text(b.value(), "xt", true);
    EXPECT_EQ(doomed->wait().reason, FinishReason::kCancelled);
    EXPECT_EQ(kept->wait().reason, FinishReason::kStop);
    EXPECT_EQ(kept->samples(), alone(say("some text", 4)));
  }
  EXPECT_TRUE(engine.drain(30));
  EXPECT_EQ(engine.stats().requests, 0);
}

/// A reader who does not take what it has keeps its request, but no place of others.
TEST(Engine, NobodyWaitsLongerThanPromised) {
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
    if (!engine.submit(say("good"), ear).ok()) continue;  // an answer at once
    ear->wait();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    EXPECT_LT(took.count(), 2) << "the promise was 0.3 s";
    EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << "paused requests held all places";
  }
}

TEST(Engine, DrainsAndShutsDown) {
  auto engine = std::make_unique<Engine>(make_toy_pipeline(), small());
  auto ear = std::make_shared<Ear>();
  ASSERT_TRUE(engine->submit(say(long_text(300, 1)), ear).ok());
  EXPECT_TRUE(engine->drain(30));
  EXPECT_TRUE(ear->done());
  EXPECT_EQ(engine->submit(say("late"), ear).error().code, ErrorCode::kOverloaded);

  engine = std::make_unique<Engine>(make_toy_pipeline(), small());
  SpeechRequest open = say("abc");
  open.text_open = true;
  auto orphan = std::make_shared<Ear>();
  ASSERT_TRUE(engine->submit(open, orphan).ok());
  EXPECT_FALSE(engine->drain(0.05));
  engine.reset();
  EXPECT_EQ(orphan->wait().reason, FinishReason::kCancelled);
}

}  // namespace
}  // namespace syrinx
