// A stand-in for the machine: a clock that is set, and slots that count time. Batches and host
// work come back to the scheduler once the clock has reached their ends. For the simulator and for
// tests; one thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/platform.h"

namespace syrinx {

class Scheduler;

/// Durations and results of virtual work. Times in seconds; an unset function is not called.
struct VirtualWork {
  std::function<double(const Batch&)> lay_out_s = {};  ///< from the plan until the batch can begin
  std::function<double(const Batch&)> batch_s = {};    ///< from its beginning to its end
  /// From its end until it is back, while the slot runs the next one: the way to another process
  /// and back.
  std::function<double(const Batch&)> link_s = {};
  /// Writes the results of an executor into a batch, called when its time is over. Times that it
  /// writes do not count.
  std::function<void(Batch&)> run = {};
  std::function<double(const HostJob&)> job_s = {};
};

/// The virtual clock and its executors.
class VirtualPlatform : public Platform {
 public:
  VirtualPlatform(const SlotsSpec& slots, VirtualWork work);

  double now() const override { return now_s_; }
  /// Never inline: also a slot that is meant to be lets its batch come back.
  bool run(int slot, Batch& batch) override;
  void prepare(std::unique_ptr<HostJob> job) override;

  /// When something comes back next; infinite: nothing is in flight.
  double next_s() const;
  /// Sets the clock, which never goes back.
  void set(double at_s);
  /// One turn as the machine's thread takes it, but for the mail: commits what has come back by
  /// now, in order of time.
  void hand_back(Scheduler& scheduler);

 private:
  struct Slot {
    std::deque<Batch*> queue = {};  ///< the front one runs
    double free_s = 0;              ///< when all of them will have run
  };
  struct Job {
    double ends_s = 0;
    std::unique_ptr<HostJob> job;
  };

  const VirtualWork work_;
  double now_s_ = 0;
  std::vector<Slot> slots_;
  std::vector<Job> jobs_;
};

}  // namespace syrinx
