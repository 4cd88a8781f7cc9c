// Threads that take queued jobs in the order of their arrival. Any thread may queue jobs.
#pragma once

#include <unistd.h>

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace syrinx {

/// Threads and their queue of jobs, which has no bound.
template <typename Job>
class Workers {
 public:
  /// Calls `work`, which must not throw, with each job. `niceness` is added to that of the threads
  /// (nice(2)); on Linux, it then differs from that of other threads.
  Workers(int threads, std::function<void(Job)> work, int niceness = 0)
      : work_(std::move(work)), niceness_(niceness) {
    for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { loop(); });
  }
  /// Waits until all jobs have ended, including jobs that running jobs queue.
  ~Workers() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    given_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// Queues a job and returns at once. Any thread.
  void run(Job job) {
    {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
    }
    given_.notify_one();
  }

 private:
  void loop() {
    if (niceness_ != 0) (void)!nice(niceness_);
    std::unique_lock lock(mutex_);
    while (true) {
      // A running job may queue another one, so this thread does not end while a job runs.
      given_.wait(lock, [&] { return !queue_.empty() || (stopping_ && running_ == 0); });
      if (queue_.empty()) break;
      Job job = std::move(queue_.front());
      queue_.erase(queue_.begin());
      ++running_;
      lock.unlock();
      work_(std::move(job));
      lock.lock();
      --running_;
    }
    given_.notify_all();
  }

  const std::function<void(Job)> work_;
  const int niceness_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::vector<Job> queue_;  // short, and unlike a deque it allocates nothing when it is warm
  int running_ = 0;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace syrinx
