// A Backend for tests that makes tones instead of speech and fails on demand. The text decides:
//   "busy"        submit() says kOverloaded       "broken"     submit() throws
//   "fail early"  kError before any audio         "fail late"  kError after 0.4 s of audio
//   "silent"      ends without audio              "endless"    goes on until it is cancelled
//   anything else: 0.1 s of audio per byte of text.
// One thread per request; chunks of 80 ms; the seed decides the samples.
#pragma once

#include <array>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "server/backend.h"

namespace syrinx {

class FakeBackend : public Backend {
 public:
  /// step_s: time that a chunk of 80 ms takes to make.
  explicit FakeBackend(double step_s = 0);
  ~FakeBackend() override;
  const PipelineInfo& info() const override { return info_; }
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) override;
  void cancel(RequestId id) override;
  EngineStats stats() const override;
  const EngineMetrics* metrics() const override { return &metrics_; }

  /// The info may be changed before the first request.
  PipelineInfo& mutable_info() { return info_; }
  /// What submit() got last.
  SpeechRequest last_request() const;
  /// Steps made, over all requests.
  int64_t steps() const;
  /// Waits until no request runs; false after timeout_s.
  bool wait_idle(double timeout_s) const;
  /// Audio made ahead of the slowest reader so far.
  double max_unread_s() const;

 private:
  struct Running {
    bool cancelled = false;
  };
  void run(RequestId id, const SpeechRequest& request, Sink& sink);
  /// False when the request was cancelled.
  bool pace(RequestId id, const Sink& sink);
  void end(RequestId id, Sink& sink, Outcome outcome);

  PipelineInfo info_;
  EngineMetrics metrics_{std::array<std::string, 1>{"ar"}};
  const double step_s_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  std::map<RequestId, Running> running_;
  std::vector<std::thread> threads_;
  SpeechRequest last_;
  EngineStats stats_;
  double max_unread_s_ = 0;
};

}  // namespace syrinx
