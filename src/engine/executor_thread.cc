#include "engine/executor_thread.h"

#include <utility>

namespace syrinx {

ExecutorThread::ExecutorThread(std::unique_ptr<Executor> executor, std::function<void(Batch*)> done)
    : executor_(std::move(executor)), done_(std::move(done)), thread_([this] { loop(); }) {}

ExecutorThread::~ExecutorThread() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  given_.notify_one();
  thread_.join();
}

void ExecutorThread::run(Batch* batch) {
  {
    std::lock_guard lock(mutex_);
    queue_.push_back(batch);
  }
  given_.notify_one();
}

void ExecutorThread::loop() {
  for (;;) {
    Batch* batch = nullptr;
    {
      std::unique_lock lock(mutex_);
      given_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) return;
      batch = queue_.front();
      queue_.erase(queue_.begin());
    }
    executor_->run(*batch);
    done_(batch);
  }
}

}  // namespace syrinx
