// Encodes recordings into voices, beside the engine's steps: a thread of its own with less priority
// than the executors', a few recordings at a time, a bounded piece of each in turn. Like all work
// it is admitted by its predicted wait, shared fairly between clients, and cancellable. Any thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/thread_pool.h"
#include "engine/metrics.h"
#include "model/voice.h"

namespace syrinx {

/// How much may wait, and for how long.
struct VoiceQueueLimits {
  int batch = 4;           ///< recordings that take turns
  int max_jobs = 64;       ///< accepted and unfinished
  int max_per_client = 0;  ///< the same for each client; 0: no limit
  double max_wait_s = 30;  ///< predicted wait for the end of the work before it
};

/// Called once, on the queue's thread, and must not block; kCancelled when cancelled.
using VoiceDone = std::function<void(Result<Voice>)>;

/// The queue of recordings and the thread that encodes them.
class VoiceQueue {
 public:
  /// Encoder and metrics outlive the queue.
  VoiceQueue(const VoiceEncoder& encoder, EngineMetrics& metrics, VoiceQueueLimits limits = {});
  /// Cancels unfinished recordings.
  ~VoiceQueue();
  VoiceQueue(const VoiceQueue&) = delete;
  VoiceQueue& operator=(const VoiceQueue&) = delete;

  /// An Error means that `done` is never called.
  Result<uint64_t> encode(Recording recording, uint64_t client, VoiceDone done);
  /// Takes effect after the piece being encoded; unknown ids: nothing.
  void cancel(uint64_t id);
  /// Waits until all recordings are finished; false after the timeout.
  bool drain(double timeout_s);

 private:
  struct Job {
    uint64_t id = 0, client = 0;
    Recording recording;
    VoiceDone done;
    std::unique_ptr<VoiceEncoding> encoding = nullptr;  // once it takes turns
    double seconds = 0, cost_s = 0;                     // of the recording; spent on it so far
    bool cancelled = false;
    std::optional<Result<Voice>> result = std::nullopt;
  };
  using Jobs = std::list<Job>;

  void loop();
  void choose_turn();
  void run_turn(StepContext& ctx);
  void take_ended(Jobs& ended);

  const VoiceEncoder& encoder_;
  EngineMetrics& metrics_;
  const VoiceQueueLimits limits_;

  mutable std::mutex mutex_;
  std::condition_variable changed_, drained_;
  Jobs jobs_;  // in order of arrival; those of `turn_` are the thread's but for `cancelled`
  uint64_t next_id_ = 1;
  double cost_ = 0;  // seconds of work per second of recording, learned; 0: not known
  bool stopping_ = false;

  std::vector<Job*> turn_;  // the thread's own
  ThreadPool pool_{1};
  std::thread thread_;
};

}  // namespace syrinx
