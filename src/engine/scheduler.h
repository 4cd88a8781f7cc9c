// The engine's thread at work: keeps the requests of all models, plans with a policy, lays batches
// out, hands them to the platform, commits what comes back (CONTRACT.md). Knows no locks; one
// thread calls everything, on the platform's clock.
#pragma once

#include <array>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/active.h"
#include "engine/admission.h"
#include "engine/batch.h"
#include "engine/metrics.h"
#include "engine/platform.h"
#include "engine/time_share.h"
#include "engine/trace_log.h"

namespace syrinx {

class Scheduler {
 public:
  /// `platform` outlives the scheduler and has the places that `spec` names. Throws LoadError when
  /// an option makes no sense.
  Scheduler(const EngineOptions& options, const PlacesSpec& spec, Platform& platform);
  ~Scheduler();

  /// The model outlives its place here. From then on its requests may come.
  void add(ResidentModel& model);
  /// Ends the model's requests with kCancelled. It may go once has() says no.
  void remove(ResidentModel& model);
  /// Whether anything here refers to the model.
  bool has(const ResidentModel& model) const;

  // What the mail says.
  /// A list of one: memory that is short when it comes in may fail the request, but not lose it.
  void take_in(std::list<std::unique_ptr<Active>> request);
  void take_in(std::unique_ptr<Active> request);
  void cancel(RequestId id);
  void append_text(RequestId id, std::string text, bool last);
  void hurry(RequestId id);

  /// Takes the results of a batch that ran, or of host work.
  void commit(Batch* batch);
  void commit(std::unique_ptr<HostJob> job);
  /// Plans and starts batches while there is something to run and somewhere to run it. With an
  /// inline platform: runs one. False when nothing was started.
  bool dispatch();
  /// Fails everything: the last resort after an exception that nobody expected.
  void fail_all(const char* why);
  /// Ends everything with kCancelled. Nothing may be away.
  void end_all();

  /// The requests that ended since the last call: model and client.
  struct Ended {
    ResidentModel* model = nullptr;
    uint64_t client = 0;
  };
  void take_ended(std::vector<Ended>& ended) {
    ended.clear();
    ended.swap(ended_);
  }
  /// When to look again although nothing comes; infinite: there is no need.
  double look_again_s() const;
  int away() const { return batches_away_ + jobs_away_; }  ///< batches and host jobs
  Load load(const ResidentModel& model) const;
  std::span<ResidentModel* const> models() const { return models_; }

 private:
  /// An executor, and the two batches that it may have: one running, one laid out.
  struct Place {
    int index = 0;
    bool steps = true;
    bool away = false;
    std::deque<Batch> batches;
    std::vector<Batch*> free;
    const ResidentModel* running = nullptr;  ///< whose batch it was given last
    double until_s = 0;                      ///< when that is probably over
  };
  struct Spot {
    ResidentModel* model = nullptr;
    int node = 0;
  };
  enum Urgency { kLive, kBackground };
  /// What could be run of the requests of one urgency.
  struct Views {
    std::vector<SequenceView> sequences;
    std::vector<ChunkView> chunks;
    bool empty() const { return sequences.empty() && chunks.empty(); }
    void clear() { sequences.clear(), chunks.clear(); }
  };

  void settle_nodes();
  void let_go();
  void give_up(Batch& batch, bool laid_out, const char* why);
  void warm(Batch& batch) const;
  bool may_step(const Place& place, const ResidentNode& node) const;
  bool may_run(const Place& place, const ResidentNode& node) const;
  bool fill(Place& place);
  bool plan(Urgency urgency, double now);
  double patience_of_listeners(double now);
  void keep_background_small(std::vector<SequenceView>& views) const;
  void clear_the_way();
  void look(const Place& place, double now);
  void tell_pages(ResidentModel& model);
  void look_at(Active& request, int slot, double now);
  void look_at_steps(Active& request, int node, int slot, double now);
  void look_at_draft(const ArRun& run, const ResidentNode& node, SequenceView& view);
  bool waits_for_room(Active& request, int node);
  static void add_companion_steps(ArRun& run);
  void look_for_prefix(Active& request, int node);
  double pipe_s(Active& request);
  double audio_slack_s(Active& request, double now);
  ChunkCut next_cut(Active& request, int node, double slack_s);
  bool make_room(const Place& place);
  bool make_room(ResidentModel& model, int node, const Active* keep, bool resting_only);
  bool start_alone(Active& request, int node);
  void give_back(Active& request, int node);
  void drop_cache(Active& request, int node);
  void keep_rows(Active& request, int node, const Verdict& verdict);
  void let_older_first();
  bool gives_way(const SequenceView& view);
  void drop_caches(Active& request);
  void begin_segment(Active& request, int node);

  /// Rows that may run now, of the sequence and of its companion.
  struct Due {
    int rows = 0, companion_rows = 0;
  };
  Due due(const ResidentNode& node, const ArRun& run) const;
  void lay_out_step(Batch& batch, double now);
  void lay_out_chunks(Batch& batch);
  void reserve(ResidentNode& node, KvHold& hold, int rows);

  void commit_step(Batch& batch);
  void commit_steps(Active& request, const Batch& batch, int e, std::span<const int32_t> guesses);
  void tell_missed(ArRun& run, const Batch& batch, int e, size_t count);
  void commit_rows(Active& request, int node, std::span<const StepSequence> ran);
  void tell_taps(Active& request, int node, const StepSequence& ran, std::span<const float> taps);
  void advance(Active& request, int node, std::span<const int32_t> codes,
               std::span<const float> values, const StepScores* scores);
  void end_streams(Active& request, int node);
  void begin_streams(Active& request, int node);
  void end_steps(Active& request, int node, FinishReason reason);
  void commit_chunks(Batch& batch);
  void pass_on(Active& request, int node, std::span<const float> values, int64_t count);
  void commit_opened(Active& request, HostJob& job);
  void open_soon(Active& request, std::unique_ptr<const SpeechRequest> unopened);
  void next_part(Active& request);
  void give(Active& request, int node, Late late);
  void give_late(Active& request, int node);
  void close_edges(Active& request);
  void deliver(Active& request, std::span<const float> samples, double now);
  void deliver(Active& request, const StepOutput& out, double now);
  void hand_over(Active& request, std::span<const float> samples);
  void be_silent(Active& request, double seconds);

  void fail(Active& request, Error error);
  void finish(Active& request, FinishReason reason);
  void sweep();
  void count_holding();
  void promote();
  double places(const ResidentModel& model) const;
  void learn();
  void learn_capacity(ResidentModel& model);
  void learn_slowdown(ResidentModel& model);
  void note_first_output(Active& request, double seconds, double now);
  void guarded(Active& request, FunctionRef<void()> work);
  Active* find(RequestId id);
  double now() const { return platform_.now(); }

  const EngineOptions options_;
  Platform& platform_;
  const PlacesSpec spec_;
  Policy policy_;
  bool realtime_;  ///< whether the policy keeps deadlines, so that places are limited
  std::unique_ptr<TraceLog> trace_;

  std::deque<Place> places_;
  std::vector<ResidentModel*> models_;
  std::vector<Spot> spots_;  ///< all nodes of all models; Snapshot::nodes
  int generation_ = 0;       ///< of models_

  std::vector<std::unique_ptr<Active>> active_;  ///< in order of promotion
  std::list<std::unique_ptr<Active>> waiting_;
  Snapshot snapshot_;           ///< its lists are filled while plan() runs
  std::array<Views, 2> views_;  ///< by Urgency
  Views* views_now_ = nullptr;  ///< of the request that is looked at
  Plan plan_;
  std::vector<PageCopy> copies_;
  std::vector<NodeWork> work_;
  std::vector<int32_t> codes_;  ///< of a step whose frames nobody takes
  bool paused_ = false;
  bool one_by_one_ = false;  ///< a batch could not be laid out
  int batches_away_ = 0, jobs_away_ = 0;
  double busy_s_ = 0;  ///< of all executors
  TimeShare background_time_;
  double learned_s_ = 0;
  std::vector<Ended> ended_;
};

/// Why the segment of a sequence can never be run on this node, or nothing. Any thread.
std::string misfit(const ResidentNode& node, const Sequence& sequence);

}  // namespace syrinx
