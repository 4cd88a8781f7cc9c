// A sink that collects a request's audio, for tools and tests. Thread-safe.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"

namespace syrinx {

/// Collects everything and can be waited for.
class Collector : public Sink {
 public:
  Collector();
  ~Collector() override;
  void audio(std::span<const float> samples) override;
  void finished(const Outcome& outcome) override;

  /// Blocks until finished; then samples() and outcome() may be read.
  const Outcome& wait();
  const std::vector<float>& samples() const;
  /// Takes what has arrived since the last call, waiting up to timeout_s; empty at the end.
  std::vector<float> next(double timeout_s);
  bool done() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace syrinx
