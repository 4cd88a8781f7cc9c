// The environment of a scheduler: a clock, executors, and threads for host work. It is the real
// machine, or a replacement with a scripted clock in the simulator and in tests.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "engine/batch.h"

namespace syrinx {

struct EngineOptions;
struct NodeRun;

/// The properties of one executor slot.
struct SlotSpec {
  int threads = 1;
  bool steps = true;    ///< AR batches may run in this slot
  bool remote = false;  ///< the slot runs only stages in other processes
};

/// The executor slots that the options request (CONTRACT.md).
struct SlotsSpec {
  std::vector<SlotSpec> slots;  ///< all slots; remote slots come last
  bool inline_run = false;      ///< batches, except remote ones, run on the scheduler's own thread
  bool split = false;           ///< each AR node has one slot for all of its steps
  int here() const;             ///< number of slots that are not remote
};
/// Returns the executor slots that the options request. 0 threads means all usable cores.
SlotsSpec slots_for(const EngineOptions& options);

/// Work on a request that may be slow: making its prompts, or preparing late text for a sequence.
/// The job owns the sequence until the scheduler gets the job back.
struct HostJob {
  Active* owner = nullptr;
  std::unique_ptr<const SpeechRequest> request;  ///< request to open; null: the job prepares text
  std::vector<NodeRun> runs;                     ///< result: the NodeRuns of the opened request
  int node = 0;
  Sequence* sequence = nullptr;  ///< sequence that receives `text`
  std::string text;
  bool last = false;
  Status result = ok_status();

  HostJob();
  ~HostJob();
  /// Does the work. Stores any exception as an Error in `result`.
  void work();
};

/// The clock and executors that a scheduler works with. All calls come on the engine thread;
/// results return through the scheduler.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual double now() const = 0;
  /// Runs a batch in a slot. Returns true if the batch has ended. Returns false if it has only
  /// started; the scheduler then gets it through commit() at its end.
  virtual bool run(int slot, Batch& batch) = 0;
  /// Starts the work of a job; the scheduler's commit() gets the job afterwards.
  virtual void prepare(std::unique_ptr<HostJob> job) = 0;
};

/// Makes the real machine's platform: one thread for every executor except an inline one, and two
/// threads for host work. Calls `returned` and `prepared` on these threads.
std::unique_ptr<Platform> make_platform(const SlotsSpec& slots,
                                        std::function<void(Batch*)> returned,
                                        std::function<void(std::unique_ptr<HostJob>)> prepared);

}  // namespace syrinx
