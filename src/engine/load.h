// The learned load of the engine, for admission: the cost and the lateness of each model's
// requests, and the busy time of the machine's executors. Engine thread only; times are seconds on
// the engine's clock.
#pragma once

#include <span>
#include <vector>

#include "engine/admission.h"
#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/platform.h"
#include "engine/time_share.h"

namespace syrinx {

struct ResidentModel;
struct ResidentNode;

/// The load of one model, learned only from results of its requests. MachineLoad::seats() computes
/// the number of seats from it.
class ModelLoad {
 public:
  /// Records that a first output came `seconds` after its request; `alone`: it was the only
  /// request.
  void first_output(double seconds, bool alone, double now) {
    slowdown_.first_output(seconds, alone, now);
  }
  /// Records that a later chunk reached its client; `late`: after the listener had run dry.
  void chunk(bool late, double now);
  /// Adds seconds of output: seconds of audio, or of reading time of text.
  void made(double seconds) { made_s_ += seconds; }
  /// Records that a request ended after `made_s` seconds of output.
  void ended(double made_s);

  double capacity() const { return capacity_; }  ///< streams if it runs alone; 0: unknown
  /// Returns the share of late chunks in about the last second in which chunks came.
  double late_share() const { return chunks_ > 0 ? late_ / chunks_ : 0; }
  double mean_made_s() const { return mean_made_s_; }  ///< mean output of recently ended requests
  double made_s() const { return made_s_; }
  SeatLimit& limit() { return limit_; }
  const SeatLimit& limit() const { return limit_; }
  const Slowdown& slowdown() const { return slowdown_; }

  /// Returns the number of requests that end per second when all seats are in use; 0 if unknown.
  double finish_rate() const;
  /// Updates the number of streams that the nodes can feed.
  void learn(std::span<const NodeWork> work, int max_batch, Sharing sharing);

 private:
  SeatLimit limit_;
  Slowdown slowdown_;
  // Faded numbers of chunks and of late chunks, and the time of the newest chunk.
  double chunks_ = 0, late_ = 0, chunk_s_ = 0;
  double capacity_ = 0;
  double made_s_ = 0, mean_made_s_ = 0;
};

/// The number and the waits of a model's requests that have waited longer for their first output
/// than a request that runs alone.
struct SlowRequests {
  int count = 0;
  double waited_s = 0;  ///< sum of their waits
};

/// The load of the machine.
class MachineLoad {
 public:
  MachineLoad(const EngineOptions& options, const SlotsSpec& spec);

  /// Reserves room for the learned costs of a model with `nodes` nodes.
  void reserve(size_t nodes) { work_.reserve(nodes); }

  /// Learns the time of a batch that has run on the node, and adds it to the busy time.
  void ran(const Batch& batch, ResidentNode& node);
  /// Returns whether requests in the background may use the executors now.
  bool background_may(double now) { return background_time_.may(now); }

  /// Returns whether the policy has deadlines; only then are seats limited.
  bool realtime() const { return realtime_; }
  /// Returns how many requests of a model may run at once, at least kLeastSeats. The machine can
  /// feed this many at the speed of playback, beside the requests of the other models.
  double seats(const ResidentModel& model, std::span<ResidentModel* const> models) const;
  /// Looks for overload. Returns whether learn() must be called as well.
  bool observe(std::span<ResidentModel* const> models, double now);
  void learn(ResidentModel& model, SlowRequests slow, double now);

 private:
  const int max_batch_;
  const int executors_;  ///< number of executors that are not remote
  const Sharing sharing_;
  const bool realtime_;
  double busy_s_ = 0;  ///< busy time of all executors
  double learned_s_ = 0;
  TimeShare background_time_;
  std::vector<NodeWork> work_;  ///< scratch
};

}  // namespace syrinx
