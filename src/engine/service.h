// An object that serves the requests of one model: an Engine, a stand-in in tests, or a simulated
// engine. Every method is safe from any thread; all but submit() return at once.
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
  /// Checks the request on the caller's thread; an Error means that the sink is never called.
  /// kOverloaded comes at once and says in retry_after_s when there should be room. May take a
  /// while for a long text, but never waits for audio.
  virtual Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) = 0;
  /// The same without making the prompts on the caller's thread: faults of the request that
  /// PipelineInfo does not show are sent to the sink as finished(kError).
  virtual Result<RequestId> submit_soon(const SpeechRequest& request, std::shared_ptr<Sink> sink) {
    return submit(request, std::move(sink));
  }
  /// Cancels before the next step; the sink gets finished(kCancelled). Ignores unknown ids.
  virtual void cancel(RequestId id) = 0;
  /// Adds text to a request opened with text_open. Ignores unknown ids.
  virtual void append_text(RequestId id, std::string text, bool last) = 0;
  /// Takes the request out of the background. Ignores unknown ids.
  virtual void raise_priority(RequestId /*id*/) {}
};

}  // namespace syrinx
