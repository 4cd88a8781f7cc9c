// One worker on virtual time: the engine's scheduler on a virtual clock. The times of batches come
// from a StepProfile. The code around the scheduler mirrors engine/machine.cc and Engine::submit().
// One thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "bench/simulator.h"
#include "engine/scheduler.h"
#include "engine/virtual_platform.h"

namespace syrinx {

class SimulatedEngine {
 public:
  /// Makes an engine whose clock begins at `began_s`. The profile must outlive it.
  SimulatedEngine(const StepProfile& profile, const SimulationOptions& options, uint64_t seed,
                  double began_s = 0);
  /// Drops unfinished requests. Their sinks may receive finished(kCancelled).
  ~SimulatedEngine();
  SimulatedEngine(const SimulatedEngine&) = delete;
  SimulatedEngine& operator=(const SimulatedEngine&) = delete;

  int unfinished() const { return model_.requests + static_cast<int>(mail_.size()); }
  const Platform& clock() const { return platform_; }
  int rate_hz() const { return pipeline_->info().speech.sample_rate; }
  /// Returns the streams divided by the streams that the learned costs allow, as the agent port
  /// reports them; 0 before costs are known.
  double used() const;
  /// Returns the free share that the engine's agent reports. It is computed from the streams and
  /// the waits of new requests.
  double free() const;
  double predicted_wait_s() const;

  /// Submits a request. Prompts are made one after another, before the request enters the engine.
  /// Returns an empty string, or why the request is refused (the sink is then never called).
  std::string submit(size_t utterance, std::shared_ptr<Sink> sink, double now);
  /// Returns the time of the next event; infinite without one.
  double next_event_s() const;
  /// Handles the events that are due.
  void turn(double now);

 private:
  Load load_now() const;
  double draw(const std::vector<double>& spread);
  double lay_out_s(const Batch& batch) const;
  double batch_s(const Batch& batch);
  double link_s(const Batch& batch) const;

  const StepProfile& profile_;
  const bool noise_;
  const double link_s_;
  const SlotsSpec spec_;
  const EngineOptions options_;
  std::mt19937_64 random_;
  VirtualPlatform platform_;
  const std::shared_ptr<const Pipeline> pipeline_;
  ResidentModel model_;
  Scheduler scheduler_;

  std::deque<std::pair<double, std::unique_ptr<Active>>> mail_;  ///< when it is ready; request
  double prompts_free_s_ = 0;
  RequestId next_id_ = 1;
  Load load_;
  double look_again_s_ = INFINITY;
};

}  // namespace syrinx
