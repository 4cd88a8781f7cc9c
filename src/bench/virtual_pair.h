// A text model and a voice on a machine whose clock is virtual. The engine's scheduler and the
// models run as they are, so what is written and said is real; what a batch takes is what such
// batches were measured to cost, so when it is said is the same on every machine. One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/cost.h"
#include "engine/engine.h"
#include "engine/executor.h"
#include "engine/resident.h"
#include "engine/scheduler.h"
#include "engine/virtual_platform.h"
#include "predict/turn.h"

namespace syrinx {

/// Costs of each node of the two, in the order of their graphs.
struct PairCosts {
  std::vector<StageCost> writer, speaker;
};

/// The two models' engines on one virtual clock, which run() moves on.
class VirtualPair {
 public:
  /// Throws LoadError where the costs are not those of these graphs.
  VirtualPair(std::shared_ptr<const Pipeline> writer, std::shared_ptr<const Pipeline> speaker,
              const EngineOptions& options, PairCosts costs);
  /// Ends what is left.
  ~VirtualPair();
  VirtualPair(const VirtualPair&) = delete;
  VirtualPair& operator=(const VirtualPair&) = delete;

  std::shared_ptr<Service> writer() { return parties_[0]; }
  std::shared_ptr<Service> speaker() { return parties_[1]; }

  double now() const { return platform_.now(); }
  void run_until(double at_s);
  /// Goes on to what happens next; false: nothing will.
  bool next();

  /// Batches of the text model since count_forwards() in which a request took part that was not in
  /// the background.
  void count_forwards() { forwards_ = 0; }
  int forwards() const { return forwards_; }
  /// Requests that have not ended, and pages that are not free, of both.
  int requests() const;
  int pages_taken() const;
  /// Caches that were dropped for want of pages so far, of both.
  int preemptions() const;
  /// Seconds of batches for requests in the background, of both.
  double background_s() const;

 private:
  class Party;
  void post(std::function<void()> letter) { mail_.push_back(std::move(letter)); }
  void turn();
  double cost_of(const Batch& batch) const;
  void run(Batch& batch);

  const PairCosts costs_;
  const EngineOptions options_;
  const PlacesSpec spec_;
  Executor executor_;
  VirtualPlatform platform_;
  std::deque<EngineMetrics> metrics_;
  std::deque<ResidentModel> models_;
  std::shared_ptr<Service> parties_[2];
  std::deque<std::function<void()>> mail_;
  int forwards_ = 0;
  RequestId next_id_ = 0;
  Scheduler scheduler_;  // ends first
};

}  // namespace syrinx
