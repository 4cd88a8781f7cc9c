// One worker on virtual time: the engine's own scheduler on a clock of its own, its batches as long
// as a StepProfile says. What goes round the scheduler mirrors engine/machine.cc and
// Engine::submit(). One thread.
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
  /// The profile outlives it. `began_s`: where its clock begins.
  SimulatedEngine(const StepProfile& profile, const SimulationOptions& options, uint64_t seed,
                  double began_s = 0);
  /// Requests that are not over are forgotten; their sinks may hear finished(kCancelled).
  ~SimulatedEngine();
  SimulatedEngine(const SimulatedEngine&) = delete;
  SimulatedEngine& operator=(const SimulatedEngine&) = delete;

  int unfinished() const { return unfinished_; }
  const Platform& clock() const { return platform_; }
  int rate_hz() const { return pipeline_->info().speech.sample_rate; }
  /// Requests by the streams that the learned costs allow, as the agent port counts it; 0 while
  /// nothing is known.
  double used() const;
  /// What its agent says: the share that is free, by streams and by how newcomers wait.
  double free() const;
  double predicted_wait_s() const;

  /// A request arrives; its prompt is made first, one after another. Empty: it was let in; else why
  /// not, and the sink is never called.
  std::string submit(size_t utterance, std::shared_ptr<Sink> sink, double now);
  /// When something happens next; infinite: nothing will.
  double next_event_s() const;
  /// Does what is due.
  void turn(double now);

 private:
  std::vector<std::string> names() const;
  Load load_now() const;
  double draw(const std::vector<double>& spread);
  double lay_out_s(const Batch& batch) const;
  double batch_s(const Batch& batch);
  double link_s(const Batch& batch) const;

  const StepProfile& profile_;
  const bool noise_;
  const double link_s_;
  const PlacesSpec spec_;
  const EngineOptions options_;
  std::mt19937_64 random_;
  VirtualPlatform platform_;
  const std::shared_ptr<const Pipeline> pipeline_;
  EngineMetrics metrics_;
  ResidentModel model_;
  Scheduler scheduler_;

  std::deque<std::pair<double, std::unique_ptr<Active>>> mail_;  ///< when it is ready
  double prompts_free_s_ = 0;
  RequestId next_id_ = 1;
  int unfinished_ = 0;
  Load load_;
  double look_again_s_ = INFINITY;
  std::vector<Scheduler::Ended> ended_;
};

}  // namespace syrinx
