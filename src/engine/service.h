// The interface of an object that serves the requests of one model: an Engine, a replacement in
// tests, or a simulated engine. Every method is safe from any thread; all except submit() return
// immediately.
#pragma once

#include <memory>
#include <string>

#include "base/error.h"
#include "model/pipeline.h"

namespace syrinx {

class Sink;
using RequestId = uint64_t;

class Service {
 public:
  virtual ~Service() = default;
  virtual const PipelineInfo& info() const = 0;
  /// Checks a request on the caller's thread and queues it. If this returns an Error, the sink is
  /// never called. Returns kOverloaded immediately, with the predicted wait in retry_after_s. May
  /// be slow for a long text, but never waits for audio.
  virtual Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) = 0;
  /// Queues a request like submit(), but makes its prompts on another thread. If making the prompts
  /// fails, the sink receives finished(kError).
  virtual Result<RequestId> submit_soon(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
    return submit(request, std::move(sink));
  }
  /// Cancels a request before its next step; the sink gets finished(kCancelled). Ignores unknown
  /// ids.
  virtual void cancel(RequestId id) = 0;
  /// Adds text to a request that was opened with text_open. Ignores unknown ids.
  virtual void append_text(RequestId id, std::string text, bool last) = 0;
  /// Takes the request out of the background. Ignores unknown ids.
  virtual void raise_priority(RequestId /*id*/) {}
};

}  // namespace syrinx
