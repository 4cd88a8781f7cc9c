// Encodes recordings into voices, on its own thread, which has less priority than the executors.
// The thread encodes a few recordings at a time, a bounded piece of each in turn. A recording is
// refused if its predicted wait is too long. Clients share the queue fairly, and jobs can be
// cancelled. Any thread.
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
#include "base/metrics.h"
#include "base/thread_pool.h"
#include "model/voice.h"

namespace syrinx {

/// The limits of a VoiceQueue.
struct VoiceQueueLimits {
  int batch = 4;           ///< number of recordings that take turns
  int max_jobs = 64;       ///< accepted, unfinished recordings
  int max_per_client = 0;  ///< accepted, unfinished recordings of one client; 0: no limit
  double max_wait_s = 30;  ///< longest predicted wait before the encoding begins
};

/// The metrics of a VoiceQueue.
struct VoiceMetrics {
  Metrics all;
  Counter encoded{all, "voices_total", "Recordings sent to be encoded into voices, by result.",
                  R"(outcome="encoded")"};
  Counter failed{all, "voices_total", "", R"(outcome="failed")"};
  Counter rejected{all, "voices_total", "", R"(outcome="rejected")"};
  Gauge waiting{all, "voices_waiting", "Recordings being encoded or waiting to be encoded."};
  Counter encode_s{all, "voice_encode_seconds_total", "Time spent on encoding recordings."};
};

/// Receives the result once, on the queue's thread, and must not block. kCancelled if cancelled.
using VoiceDone = std::function<void(Result<Voice>)>;

/// The queue of recordings and the thread that encodes them.
class VoiceQueue {
 public:
  /// `encoder` must outlive the queue.
  explicit VoiceQueue(const VoiceEncoder& encoder, VoiceQueueLimits limits = {});
  /// Cancels unfinished recordings.
  ~VoiceQueue();
  VoiceQueue(const VoiceQueue&) = delete;
  VoiceQueue& operator=(const VoiceQueue&) = delete;

  /// Queues a recording. If this returns an Error, `done` is never called.
  Result<uint64_t> encode(Recording recording, uint64_t client, VoiceDone done);
  /// Cancels a recording after the piece that is being encoded. Ignores unknown ids.
  void cancel(uint64_t id);
  const VoiceMetrics& metrics() const { return metrics_; }

 private:
  struct Job {
    uint64_t id = 0, client = 0;
    Recording recording;
    VoiceDone done;
    std::unique_ptr<VoiceEncoding> encoding = nullptr;  // null until the recording's first turn
    double seconds = 0, cost_s = 0;                     // length; time spent on encoding so far
    bool cancelled = false;
    std::optional<Result<Voice>> result = std::nullopt;
  };
  using Jobs = std::list<Job>;

  void loop();
  void choose_turn();
  void run_turn(StepContext& ctx);
  void take_ended(Jobs& ended);

  const VoiceEncoder& encoder_;
  VoiceMetrics metrics_;
  const VoiceQueueLimits limits_;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Jobs jobs_;  // in order of arrival. Only the thread uses jobs in `turn_`, except their field
               // `cancelled`
  uint64_t next_id_ = 1;
  double cost_ = 0;  // learned seconds of work per second of recording; 0: unknown
  bool stopping_ = false;

  std::vector<Job*> turn_;  // used by the thread only
  ThreadPool pool_{1};
  std::thread thread_;
};

}  // namespace syrinx
