// A few host threads that recognise speech for many listeners in turn, one short piece of work at a
// time. They have a lower priority than the threads that synthesise speech, because a late
// transcript causes no audible gap.
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
  /// Waits until all posted pieces have run, including pieces that running pieces post.
  ~HearingThreads();
  HearingThreads(const HearingThreads&) = delete;
  HearingThreads& operator=(const HearingThreads&) = delete;

  /// Runs `piece` after the pieces posted earlier have begun. `piece` must not throw. Any thread.
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
