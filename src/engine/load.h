// The learned load of the engine: for each model the cost of its requests and how their
// clients fare, and of the machine how busy its executors are. Admission counts with it. Engine
// thread only; times are seconds on the engine's clock.
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

/// The load of one model. Its numbers change only by what its requests did; the machine asks it
/// for seats (MachineLoad::seats).
class ModelLoad {
 public:
  /// A first output came `seconds` after its request; `alone`: no other request was there.
  void first_output(double seconds, bool alone, double now) {
    slowdown_.first_output(seconds, alone, now);
  }
  /// A later chunk reached its client; `late`: after the listener had run dry.
  void chunk(bool late, double now);
  /// Seconds of output were made: audio, or reading time of text.
  void made(double seconds) { made_s_ += seconds; }
  /// A request ended after it had made `made_s` seconds of output.
  void ended(double made_s);

  double capacity() const { return capacity_; }        ///< real-time streams alone; 0: not known
  double late_share() const { return late_share_; }    ///< of the chunks of the last second
  double mean_made_s() const { return mean_made_s_; }  ///< of the requests that ended lately
  double made_s() const { return made_s_; }
  SeatLimit& limit() { return limit_; }
  const SeatLimit& limit() const { return limit_; }
  const Slowdown& slowdown() const { return slowdown_; }

  /// Requests that end in a second when all seats are taken; 0: not known.
  double finish_rate() const;
  /// Counts the late chunks, and learns how many streams the nodes can feed.
  void learn(std::span<const NodeWork> work, int max_batch, Sharing sharing, double now);

 private:
  SeatLimit limit_;
  Slowdown slowdown_;
  Rate chunk_rate_{1.0}, late_rate_{1.0};
  double late_share_ = 0;
  double capacity_ = 0;
  double made_s_ = 0, mean_made_s_ = 0;
};

/// Requests of a model that have waited for their first output longer than one alone would.
struct SlowRequests {
  int count = 0;
  double waited_s = 0;  ///< of all together
};

/// The load of the machine.
class MachineLoad {
 public:
  MachineLoad(const EngineOptions& options, const SlotsSpec& spec);

  /// Reserves room for the learned costs of a model with `nodes` nodes.
  void reserve(size_t nodes) { work_.reserve(nodes); }

  /// A batch of the node has run: what it took is learned and counted.
  void ran(const Batch& batch, ResidentNode& node);
  /// Whether requests in the background may take time of the executors now.
  bool background_may(double now) { return background_time_.may(now); }

  /// Whether promises about seats are kept: the policy has deadlines.
  bool realtime() const { return realtime_; }
  /// Requests of a model that may run at once: as many as can be fed at the speed of playback
  /// beside the requests of the other models, but a few always.
  double seats(const ResidentModel& model, std::span<ResidentModel* const> models) const;
  /// Looks for overload; true: it is time to learn(), too.
  bool observe(std::span<ResidentModel* const> models, double now);
  void learn(ResidentModel& model, SlowRequests slow, double now);

 private:
  const int max_batch_;
  const int executors_;  ///< that are not remote
  const Sharing sharing_;
  const bool realtime_;
  double busy_s_ = 0;  ///< of all executors
  double learned_s_ = 0;
  TimeShare background_time_;
  std::vector<NodeWork> work_;  ///< scratch
};

}  // namespace syrinx
