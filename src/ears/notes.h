// For tests of recognisers: keeps everything that a recogniser reports about a recording, so that
// another thread can read it after the end.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "ears/recogniser.h"

namespace syrinx {

class Notes : public TranscriptSink {
 public:
  void partial(std::string_view text) override {
    const std::lock_guard lock(mutex_);
    partials.emplace_back(text);
  }
  void segment(const TranscriptSegment& segment) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(result);
    segments.push_back(segment);
  }
  void heard(double seconds) override {
    const std::lock_guard lock(mutex_);
    EXPECT_GT(seconds, heard_s);
    heard_s = seconds;
  }
  void finished(Result<Transcript> transcript) override {
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(result) << "finished twice";
    result = std::move(transcript);
    finished_s = now_s();
    changed_.notify_all();
  }
  const Result<Transcript>& wait(int seconds = 120) {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::seconds(seconds), [&] { return result.has_value(); });
    EXPECT_TRUE(came);
    if (!came) result = Error{ErrorCode::kInternal, "no transcript arrived"};
    return *result;
  }
  bool has_ended() {
    const std::lock_guard lock(mutex_);
    return result.has_value();
  }

  std::vector<std::string> partials;
  std::vector<TranscriptSegment> segments;
  std::optional<Result<Transcript>> result;
  double heard_s = 0, finished_s = 0;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace syrinx
