// A few host threads that recognise speech for many listeners in turn, one bounded piece of work at
// a time. They run at a lower priority than the threads that synthesise speech: a late transcript
// causes no audible gap.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace syrinx {

class HearingThreads {
 public:
  explicit HearingThreads(int threads);
  /// Runs all posted pieces to the end, also pieces that a running piece posts.
  ~HearingThreads();
  HearingThreads(const HearingThreads&) = delete;
  HearingThreads& operator=(const HearingThreads&) = delete;

  /// Runs `piece` after those posted before it have begun; it must not throw. Any thread.
  void post(std::function<void()> piece);

 private:
  void loop();
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> pieces_;
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace syrinx
