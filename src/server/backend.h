// What the server speaks with. An Engine in the program, a stand-in in tests; later a group of
// engines. Every method is safe from any thread; cancel() and stats() return at once.
#pragma once

#include <memory>

#include "engine/engine.h"

namespace syrinx {

class Backend {
 public:
  virtual ~Backend() = default;
  virtual const PipelineInfo& info() const = 0;
  /// As Engine::submit(): may take a while for a long text, but never waits for audio.
  virtual Result<RequestId> submit(const SpeechRequest& request, std::shared_ptr<Sink> sink) = 0;
  virtual void cancel(RequestId id) = 0;
  virtual EngineStats stats() const = 0;
  /// Counters since the start; null where there is no engine.
  virtual const EngineMetrics* metrics() const = 0;
};

/// A Backend around one engine.
std::shared_ptr<Backend> make_backend(std::unique_ptr<Engine> engine);

}  // namespace syrinx
