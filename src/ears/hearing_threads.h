// A few host threads that hear for many listeners, each a bounded piece at a time, in turn. They
// give way to the threads that speak: a gap in a transcript is not heard.
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
  /// Runs what is posted, also by what is posted, to the end.
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
