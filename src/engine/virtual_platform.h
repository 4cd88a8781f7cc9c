// A replacement for the real machine: a clock that the caller sets, and slots that only count time.
// The scheduler gets batches and host work back when the clock has reached their ends. For the
// simulator and for tests; one thread.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "engine/platform.h"

namespace syrinx {

class Scheduler;

/// Durations in seconds, and results, of virtual work. Unset functions are not called.
struct VirtualWork {
  std::function<double(const Batch&)> lay_out_s = {};  ///< from the plan until the batch can begin
  std::function<double(const Batch&)> batch_s = {};    ///< from the batch's beginning to its end
  /// From the batch's end until the scheduler gets it back; the slot runs the next batch meanwhile.
  /// This is the time on the way to another process and back.
  std::function<double(const Batch&)> link_s = {};
  /// Writes an executor's results into a batch; called at the batch's end. Times that the function
  /// writes are ignored.
  std::function<void(Batch&)> run = {};
  std::function<double(const HostJob&)> job_s = {};
};

/// The virtual clock and its executors.
class VirtualPlatform : public Platform {
 public:
  VirtualPlatform(const SlotsSpec& slots, VirtualWork work);

  double now() const override { return now_s_; }
  /// Queues the batch. Returns false even for an inline slot.
  bool run(int slot, Batch& batch) override;
  void prepare(std::unique_ptr<HostJob> job) override;

  /// Returns the time at which the next batch or job returns. Infinite: nothing is in flight.
  double next_s() const;
  /// Sets the clock; `at_s` must not be earlier than now().
  void set(double at_s);
  /// Commits the batches and jobs that have ended by now, in order of time, as the machine's thread
  /// does in a turn.
  void hand_back(Scheduler& scheduler);

 private:
  struct Slot {
    std::deque<Batch*> queue = {};  ///< the front one runs
    double free_s = 0;              ///< end of the last batch in the queue
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
