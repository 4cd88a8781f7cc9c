#include "engine/executor_thread.h"

#include <utility>

namespace syrinx {

ExecutorThread::ExecutorThread(std::unique_ptr<Executor> executor, std::function<void(Batch*)> done)
    : executor_(std::move(executor)), done_(std::move(done)), thread_([this] { loop(); }) {}

ExecutorThread::~ExecutorThread() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  executor_->recall();
  thread_.join();
}

void ExecutorThread::run(Batch* batch) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(batch);
  }
  executor_->recall();
}

Batch* ExecutorThread::next() {
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (!queue_.empty()) {
        Batch* batch = queue_.front();
        queue_.erase(queue_.begin());
        return batch;
      }
      if (stopping_) return nullptr;
    }
    executor_->lend();
  }
}

void ExecutorThread::loop() {
  while (Batch* batch = next()) {
    executor_->run(*batch);
    done_(batch);
  }
}

}  // namespace syrinx
