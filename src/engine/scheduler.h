// The engine's thread at work: keeps the requests, plans with a policy, lays batches out, hands
// them to executors, commits what comes back (CONTRACT.md). Knows no locks; one thread calls
// everything.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/active.h"
#include "engine/admission.h"
#include "engine/batch.h"
#include "engine/executor_thread.h"
#include "engine/first_chunk.h"
#include "engine/metrics.h"
#include "engine/trace_log.h"

namespace syrinx {

class Scheduler {
 public:
  /// `returned` is called on executors' threads with each batch that ran; it belongs to commit().
  Scheduler(std::shared_ptr<const Pipeline> pipeline, const EngineOptions& options,
            EngineMetrics& metrics, std::function<void(Batch*)> returned);
  ~Scheduler();

  /// Pages that the options buy for this pipeline.
  static int pages_for(const ArStage& ar, const EngineOptions& options);

  // What the mail says.
  void take_in(std::unique_ptr<Active> request);
  void cancel(RequestId id);
  void append_text(RequestId id, std::string_view text, bool last);

  /// Takes the results of a batch that ran. No other batch of this call may be in use any more.
  void commit(Batch* batch);
  /// Plans and starts batches while there is something to run and somewhere to run it. With one
  /// shared executor: runs one. False when nothing was started.
  bool dispatch();
  /// Ends everything with kCancelled. Executors must have returned all batches.
  void end_all();

  /// The clients of the requests that ended since the last call.
  void take_ended(std::vector<uint64_t>& clients) {
    clients.clear();
    clients.swap(ended_);
  }
  /// Whether a reader's pace holds somebody up: look again soon, without a cause.
  bool paused() const { return paused_; }
  int batches_in_flight() const { return in_flight_; }
  Load load() const;
  void costs(CostModel& model) const;
  /// Why the state's current segment can never be run, or nothing. Any thread.
  std::string misfit(const Sequence& state) const;

 private:
  /// An executor, its kind and the two batches that it may have: one running, one laid out.
  struct Place {
    int index = 0;
    bool steps = true, chunks = true;
    std::deque<Batch> batches;
    std::vector<Batch*> free;
    std::unique_ptr<ExecutorThread> thread;  ///< null: run here
  };
  void add_place(int threads, bool steps, bool chunks, bool inline_run);
  bool fill(Place& place);
  void look(const Place& place, double now);
  void look_at(Active& request, int slot, double now);
  void look_for_prefix(Active& request);
  SequenceView view(Active& request, int slot, double now);
  double pipe_s(Active& request);
  ChunkCut next_cut(Active& request, size_t link, double slack_s);
  bool make_room();
  void drop_cache(Active& request);
  void begin_segment(Active& request);

  /// Rows that may run now, of the sequence and of its companion.
  struct Due {
    int rows = 0, companion_rows = 0;
  };
  Due due(const Active& request) const;
  void lay_out_step(Batch& batch, double now);
  void lay_out_chunks(Batch& batch, double now);
  void reserve(KvHold& hold, int rows);

  void commit_step(Batch& batch);
  void commit_rows(Active& request, std::span<const StepSequence> ran);
  void advance(Active& request, std::span<const int32_t> codes);
  void end_steps(Active& request, FinishReason reason);
  void commit_chunks(Batch& batch);
  void commit_chunk(Active& request, size_t link, const ChunkJob& job);
  void close_lanes(Active& request);
  void deliver(Active& request, std::span<const float> samples, double now);
  void give_text(Active& request, std::string_view text, bool last);

  void fail(Active& request, ErrorCode code, const std::string& message);
  void finish(Active& request, FinishReason reason);
  void sweep();
  void promote();
  double places() const;
  void learn_capacity();
  void guarded(Active& request, FunctionRef<void()> work);

  const std::shared_ptr<const Pipeline> pipeline_;
  const EngineOptions options_;
  EngineMetrics& metrics_;
  const std::function<void(Batch*)> returned_;
  Policy policy_;
  bool realtime_;  ///< whether the policy keeps deadlines, so that places are limited
  std::unique_ptr<TraceLog> trace_;

  std::vector<KvPool> kv_;
  KvCache cache_;
  std::unique_ptr<Executor> inline_executor_;
  std::deque<Place> places_;
  Sharing sharing_;

  std::vector<std::unique_ptr<Active>> active_;  ///< in order of promotion
  std::deque<std::unique_ptr<Active>> waiting_;
  Snapshot snapshot_;
  Plan plan_;
  std::vector<PageCopy> copies_;
  bool paused_ = false;
  int in_flight_ = 0, steps_in_flight_ = 0;
  std::vector<uint64_t> ended_;

  // What was learned.
  CostLearner step_cost_;
  std::vector<CostLearner> chunk_costs_;
  std::vector<double> samples_per_frame_;  ///< of each link
  std::vector<int> chunk_frames_;          ///< steady chunk of each link
  FirstChunk first_chunk_;
  Rate chunk_rate_{1.0}, late_rate_{1.0};
  double mean_audio_s_ = 0;  ///< of the requests that ended lately
  double late_share_ = 0;    ///< of the chunks of the last second
  PlaceLimit place_limit_;
  WorkPerSecond totals_;      ///< since the start: rows of steps, frames of links
  WorkPerSecond per_second_;  ///< of audio
  int64_t commits_ = 0;
};

}  // namespace syrinx
