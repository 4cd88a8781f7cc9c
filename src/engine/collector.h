// A sink that collects a request's audio, for tools and tests. Thread-safe.
#pragma once

#include <optional>
#include <vector>

#include "base/outbox.h"
#include "engine/engine.h"

namespace syrinx {

/// Collects all samples; callers may wait for more samples or for the end.
class Collector : public Sink {
 public:
  void audio(std::span<const float> samples) override;
  void finished(const Outcome& outcome) override;

  /// Blocks until finished() was called and returns its outcome. Afterwards samples() may be read.
  const Outcome& wait();
  const std::vector<float>& samples() const;
  /// Returns the samples that arrived since the last call. Waits up to timeout_s for samples.
  /// Returns an empty vector at the end.
  std::vector<float> next(double timeout_s);
  bool done() const;

 private:
  struct Collected {
    std::vector<float> samples = {};
    size_t taken = 0;
    std::optional<Outcome> outcome = {};
    bool all_taken() const { return taken == samples.size(); }
  };
  Outbox<Collected> box_;
};

}  // namespace syrinx
