// A text model and a voice model on a machine with a virtual clock. The engine's scheduler, the
// models, the text and the samples are real. The time of a batch is the measured cost of such
// batches, so all times are the same on every machine. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "bench/batch_times.h"
#include "engine/cost.h"
#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/resident.h"
#include "engine/scheduler.h"
#include "engine/virtual_platform.h"
#include "predict/turn.h"

namespace syrinx {

/// Costs of each node of the two models, in the order of their graphs.
struct PairCosts {
  std::vector<StageCost> writer, speaker;
};

/// The engines of two models on one virtual clock, which run_until() and next() advance.
class VirtualPair {
 public:
  /// Batches run with as many threads as the engine's first executor would have. Throws LoadError
  /// when the numbers of costs and nodes differ.
  VirtualPair(std::shared_ptr<const Pipeline> writer, std::shared_ptr<const Pipeline> speaker,
              const EngineOptions& options, PairCosts costs);
  /// Ends all requests.
  ~VirtualPair();
  VirtualPair(const VirtualPair&) = delete;
  VirtualPair& operator=(const VirtualPair&) = delete;

  std::shared_ptr<Service> writer() { return parties_[0]; }
  std::shared_ptr<Service> speaker() { return parties_[1]; }

  double now() const { return platform_.now(); }
  void run_until(double at_s);
  /// Advances to the next event; returns false without one.
  bool next();

  /// Starts counting the text model's batches that contain a foreground request.
  void count_forwards() { forwards_ = 0; }
  int forwards() const { return forwards_; }
  /// Returns the unfinished requests of both models. pages_taken() returns the used pages of both.
  int requests() const;
  int pages_taken() const;
  /// Returns how often caches were dropped because pages were lacking, in both models.
  int preemptions() const;
  /// Returns the seconds of batches for background requests, in both models.
  double background_s() const;
  /// Returns the costs of the batches so far, measured on this machine.
  PairCosts measured() const;

 private:
  class Party;
  void post(std::function<void()> letter) { mail_.push_back(std::move(letter)); }
  void turn();
  double cost_of(const Batch& batch) const;
  double clock_s() const;
  void run(Batch& batch);

  const PairCosts costs_;
  const EngineOptions options_;
  const SlotsSpec spec_;
  Executor executor_;
  VirtualPlatform platform_;
  std::deque<ResidentModel> models_;
  std::shared_ptr<Service> parties_[2];
  std::deque<std::function<void()>> mail_;
  BatchTimes times_[2];
  int forwards_ = 0;
  RequestId next_id_ = 0;
  Scheduler scheduler_;  // the last member, so destroyed first
};

}  // namespace syrinx
