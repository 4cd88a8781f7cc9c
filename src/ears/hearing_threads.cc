#include "ears/hearing_threads.h"

#include <unistd.h>

#include <utility>

namespace syrinx {
namespace {

/// Niceness that is added to the threads (nice(1)). When other threads need the core, too, each of
/// these threads gets a tenth of it.
constexpr int kHearingNice = 10;

}  // namespace

HearingThreads::HearingThreads(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
}

HearingThreads::~HearingThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void HearingThreads::post(std::function<void()> piece) {
  {
    const std::lock_guard lock(mutex_);
    pieces_.push_back(std::move(piece));
  }
  changed_.notify_one();
}

void HearingThreads::loop() {
  (void)!nice(kHearingNice);  // on Linux, this affects only this thread
  std::unique_lock lock(mutex_);
  while (true) {
    // A running piece may post another piece, so this thread does not stop while a piece runs.
    changed_.wait(lock, [&] { return !pieces_.empty() || (stopping_ && running_ == 0); });
    if (pieces_.empty()) break;
    const std::function<void()> piece = std::move(pieces_.front());
    pieces_.pop_front();
    ++running_;
    lock.unlock();
    piece();
    lock.lock();
    --running_;
  }
  changed_.notify_all();
}

}  // namespace syrinx
