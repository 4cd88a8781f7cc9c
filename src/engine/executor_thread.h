// An executor with a thread of its own and a queue: one batch runs while the next one waits.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/executor.h"

namespace syrinx {

class ExecutorThread {
 public:
  /// Calls `done` on the executor's thread after each batch, in order.
  ExecutorThread(std::unique_ptr<Executor> executor, std::function<void(Batch*)> done);
  /// Runs the queued batches, then ends the thread.
  ~ExecutorThread();
  ExecutorThread(const ExecutorThread&) = delete;
  ExecutorThread& operator=(const ExecutorThread&) = delete;

  /// Queues a batch, which the caller owns and must not touch until `done` is called with it.
  void run(Batch* batch);

 private:
  void loop();

  std::unique_ptr<Executor> executor_;
  std::function<void(Batch*)> done_;
  std::mutex mutex_;
  std::condition_variable given_;
  std::vector<Batch*> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace syrinx
