#include "engine/engine.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <new>
#include <thread>

#include "model/toy/toy.h"

namespace {
std::atomic<int64_t> allocations{0};
}

void* operator new(size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"  // both sides are replaced here
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
#pragma GCC diagnostic pop

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
  std::atomic<double> unread{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<float> samples_;
  int chunks_ = 0;
  bool done_ = false;
  Outcome outcome_;
};

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
  EXPECT_EQ(engine.stats().pages_free, engine.stats().pages);
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
    if (chunks_ == 10) first = allocations.load();
    if (chunks_ == 50) last = allocations.load();
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
  Engine engine(make_toy_pipeline(), small());
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
