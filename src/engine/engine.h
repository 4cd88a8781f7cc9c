// The engine: runs one pipeline for many requests at once. One thread plans, executes and commits
// (CONTRACT.md beside this file states the invariants). Public methods are safe from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "model/pipeline.h"

namespace syrinx {

struct EngineOptions {
  int threads = 0;             ///< of the kernels, the engine's own included; 0: all cores
  int max_batch = 32;          ///< sequences in one AR step
  int max_prefill_rows = 128;  ///< prompt rows that may ride along in one AR step
  int max_requests = 256;      ///< accepted and unfinished; past it submit() says kOverloaded
  size_t kv_bytes = 0;         ///< memory of the KV cache; 0: enough for max_batch long requests,
                               ///< at most 1 GiB
  double max_unread_s = 30;    ///< audio made ahead of a client that does not read
  double repetition_s = 6;     ///< a stream that repeats itself this long is ended; 0: never
};

using RequestId = uint64_t;

/// How a request ended and what it cost.
struct Outcome {
  FinishReason reason = FinishReason::kStop;
  Error error;  ///< when reason is kError
  int64_t frames = 0;
  double audio_s = 0;
  double first_audio_s = 0;   ///< from submit() to the first samples delivered
  double total_s = 0;         ///< from submit() to the end
  int underruns = 0;          ///< chunks that came after the listener had run dry
  double max_underrun_s = 0;  ///< the longest wait of the listener
  std::vector<WordMark> words;
};

/// Where a request's audio goes. Called on the engine's thread, in order, and must not block:
/// copy and return. Kept alive by the engine until finished() has returned.
class Sink {
 public:
  virtual ~Sink() = default;
  /// Mono samples in [-1, 1] at the pipeline's rate; borrowed for the call.
  virtual void audio(std::span<const float> samples) = 0;
  /// The last call. Comes exactly once for every accepted request.
  virtual void finished(const Outcome& outcome) = 0;
  /// Seconds of audio delivered but not yet taken by the client; any thread.
  virtual double unread_s() const { return 0; }
};

/// A momentary picture, for logs, health and tests.
struct EngineStats {
  int requests = 0;
  int pages_free = 0, pages = 0;
  int64_t ar_steps = 0, chunk_steps = 0, preemptions = 0;
  int64_t accepted = 0, finished = 0;
  double audio_s = 0;
};

class Engine {
 public:
  explicit Engine(std::shared_ptr<const Pipeline> pipeline, EngineOptions options = {});
  /// Ends what is running with kCancelled.
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  const Pipeline& pipeline() const;

  /// Checks the request on the caller's thread; an Error means that the sink is never called.
  Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink);
  /// Takes effect before the next step; the sink hears finished(kCancelled). Unknown ids: nothing.
  void cancel(RequestId id);
  /// More text for a request opened with text_open; unknown ids: nothing.
  void append_text(RequestId id, std::string text, bool last);

  /// Refuses new requests and waits for the running ones; true if all ended in time.
  bool drain(double timeout_s);
  EngineStats stats() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
