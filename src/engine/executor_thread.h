// An executor with a thread of its own: batches go in, one runs, the next one waits laid out.
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
  /// `done` is called on the executor's thread after each batch, in order.
  ExecutorThread(std::unique_ptr<Executor> executor, std::function<void(Batch*)> done);
  /// Runs what was given to it, then ends.
  ~ExecutorThread();
  ExecutorThread(const ExecutorThread&) = delete;
  ExecutorThread& operator=(const ExecutorThread&) = delete;

  /// The batch stays the caller's and is not touched until done() has it.
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
