// An executor with its own thread and queue: one batch may wait while another one runs.
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

  /// Queues a batch. The caller owns it and must not use it until `done` is called with it.
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
