// The environment of a scheduler: a clock, executors, and threads for host work. The machine
// itself, or a stand-in with a scripted clock in the simulator and in tests.
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

/// An executor: how many threads, and whether AR batches may run there.
struct SlotSpec {
  int threads = 1;
  bool steps = true;
  bool remote = false;  ///< for stages that run in other processes, and for nothing else
};

/// Which executors the options ask for (CONTRACT.md).
struct SlotsSpec {
  std::vector<SlotSpec> slots;  ///< the remote ones come last
  bool inline_run = false;      ///< batches run on the scheduler's own thread, but for remote ones
  bool split = false;           ///< each AR node is stepped in one slot only
  int here() const;             ///< number of slots that are not remote
};
/// Returns the executor slots that the options ask for; threads 0 means all usable cores.
SlotsSpec slots_for(const EngineOptions& options);

/// Work on a request that may take its time: making its prompts, or text on its way into a
/// sequence, which belongs to the job until it comes back.
struct HostJob {
  Active* owner = nullptr;
  const ResidentModel* model = nullptr;
  std::unique_ptr<const SpeechRequest> request;  ///< to be opened; or
  std::vector<NodeRun> runs;                     ///< the opened request's sides of nodes
  int node = 0;
  Sequence* sequence = nullptr;  ///< that text is for
  std::string text;
  bool last = false;
  Status result = ok_status();

  HostJob();
  ~HostJob();
  /// Whatever is thrown becomes an Error.
  void work();
};

/// The clock and executors that a scheduler works with. Called on the engine thread; results come
/// back through the scheduler.
class Platform {
 public:
  virtual ~Platform() = default;
  virtual double now() const = 0;
  /// Runs a batch in a slot. True: it has run; else it comes back to the scheduler's commit().
  virtual bool run(int slot, Batch& batch) = 0;
  /// Does the work of a job; it comes back to the scheduler's commit().
  virtual void prepare(std::unique_ptr<HostJob> job) = 0;
};

/// This machine: a thread for every executor but an inline one, and two for host work.
/// `returned` and `prepared` are called on those threads.
std::unique_ptr<Platform> make_platform(const SlotsSpec& slots,
                                        std::function<void(Batch*)> returned,
                                        std::function<void(std::unique_ptr<HostJob>)> prepared);

}  // namespace syrinx
