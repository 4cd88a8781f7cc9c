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
  bool steps = true;    ///< AR batches may run here
  bool remote = false;  ///< only for stages that run in other processes
};

/// The executors that the options ask for (CONTRACT.md).
struct SlotsSpec {
  std::vector<SlotSpec> slots;  ///< remote slots come last
  bool inline_run = false;      ///< batches, except remote ones, run on the scheduler's own thread
  bool split = false;           ///< each AR node takes its steps in one slot only
  int here() const;             ///< number of slots that are not remote
};
/// Returns the executor slots that the options ask for; threads 0 means all usable cores.
SlotsSpec slots_for(const EngineOptions& options);

/// Work on a request that may be slow: making its prompts, or preparing late text for a sequence.
/// The job owns the sequence until the scheduler gets the job back.
struct HostJob {
  Active* owner = nullptr;
  const ResidentModel* model = nullptr;
  std::unique_ptr<const SpeechRequest> request;  ///< the request to open; null: the job has text
  std::vector<NodeRun> runs;                     ///< result: the opened request's sides of nodes
  int node = 0;
  Sequence* sequence = nullptr;  ///< the sequence that gets `text`
  std::string text;
  bool last = false;
  Status result = ok_status();

  HostJob();
  ~HostJob();
  /// Does the work; any exception becomes an Error in `result`.
  void work();
};

/// The clock and executors that a scheduler works with. Called on the engine thread; results come
/// back through the scheduler.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual double now() const = 0;
  /// Runs a batch in a slot. True: the batch has ended. False: the batch has only started; the
  /// scheduler's commit() gets it at its end.
  virtual bool run(int slot, Batch& batch) = 0;
  /// Starts the work of a job; the scheduler's commit() gets the job afterwards.
  virtual void prepare(std::unique_ptr<HostJob> job) = 0;
};

/// Makes the real machine's platform: a thread for every executor except an inline one, and two
/// threads for host work. Calls `returned` and `prepared` on these threads.
std::unique_ptr<Platform> make_platform(const SlotsSpec& slots,
                                        std::function<void(Batch*)> returned,
                                        std::function<void(std::unique_ptr<HostJob>)> prepared);

}  // namespace syrinx
