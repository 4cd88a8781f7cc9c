// For tests of the engine: a sink that collects audio, options of small engines for the toy model,
// and requests.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "model/toy/toy.h"

namespace syrinx {

/// A sink that collects samples and text.
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

/// Returns whether all pages become free. Waits for that, because a step of an ended request may
/// still be running.
inline bool all_pages_free(const Engine& engine) {
  for (int i = 0; i < 1000; ++i) {
    if (engine.stats().pages_free == engine.stats().pages) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

inline EngineOptions small() {
  EngineOptions options;
  options.threads = 2;
  options.kv_bytes = 1 << 20;
  options.repetition_s = 0;
  return options;
}

/// Returns options with a cache of exactly this many pages.
inline EngineOptions with_pages(int pages) {
  EngineOptions options = small();
  options.kv_bytes = pages * KvPool::page_bytes({1, 2, 8, DType::kF32});
  return options;
}

inline SpeechRequest say(std::string text, uint64_t seed = 1) {
  SpeechRequest request;
  request.say.text = std::move(text);
  request.sampling.seed = seed;
  return request;
}

inline std::string long_text(int bytes, int salt) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>('a' + (i * 7 + salt) % 26);
  return text;
}

inline std::vector<float> alone(const SpeechRequest& request, EngineOptions options = small()) {
  Engine engine(make_toy_pipeline(), options);
  auto ear = std::make_shared<Ear>();
  EXPECT_TRUE(engine.submit(request, ear).ok());
  EXPECT_EQ(ear->wait().reason, FinishReason::kStop) << ear->wait().error.message;
  return ear->samples();
}

}  // namespace syrinx
