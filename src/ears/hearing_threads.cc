#include "ears/hearing_threads.h"

#include <unistd.h>

#include <utility>

namespace syrinx {
namespace {

/// Niceness added to the threads, as in nice(1): when other threads want the core too, each of them
/// gets a tenth of it.
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
  (void)!nice(kHearingNice);  // on Linux it applies to this thread only
  std::unique_lock lock(mutex_);
  while (true) {
    // A piece that runs may post another one.
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
