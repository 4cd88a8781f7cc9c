// One engine of the simulator. Inside the simulator only.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <vector>

#include "bench/meter.h"
#include "bench/simulator.h"
#include "engine/admission.h"
#include "engine/first_chunk.h"
#include "engine/lane.h"
#include "engine/policy.h"

namespace syrinx {

/// A request in a simulated engine: engine/active.h with counts instead of contents.
struct SimulatedRequest {
  uint64_t id = 0;
  const UtteranceProfile* utterance = nullptr;
  std::function<void(double now)> done;  ///< called once, when it has ended

  // AR stage
  size_t segment = 0;
  int steps = 0, kv = 0, companion_kv = 0, pages = 0;
  int64_t segment_frames = 0;  ///< given in this segment
  bool ar_open = true, stepping = false, ended = false;

  // Chunk stages; a frame is one number that nobody reads
  std::vector<Lane<int32_t>> lanes;
  std::vector<double> fractions;  ///< frames of the next lane that are not whole yet
  uint32_t chunking = 0;

  // Delivery, on the clock of the run
  double submitted_s = 0, due_s = 0;
  double playing_since_s = 0, audio_s = 0;
  int chunks_delivered = 0;
  Playback heard;  ///< by the client, since due
  RequestRecord record;

  const SegmentProfile& now() const { return utterance->segments[segment]; }
  bool guided() const { return now().companion_rows > 0; }
  int rows_due() const { return now().prompt_rows + steps - kv; }
  int companion_due() const { return guided() ? now().companion_rows + steps - companion_kv : 0; }
  bool started() const { return chunks_delivered > 0; }
  bool in_flight() const { return stepping || chunking != 0; }
  double slack_s(double at) const { return playing_since_s + audio_s - at; }
};

class SimulatedEngine {
 public:
  SimulatedEngine(const StepProfile& profile, const SimulationOptions& options, uint64_t seed);

  int unfinished() const {
    return static_cast<int>(active_.size() + waiting_.size() + mail_.size());
  }
  /// A request arrives; its prompt is made first, one after another. False: refused, nothing kept.
  bool submit(std::unique_ptr<SimulatedRequest> request, double now);
  /// When something happens next; infinite: nothing will.
  double next_event_s() const;
  /// Does what is due.
  void turn(double now);

 private:
  struct SimulatedBatch {
    bool step = false;
    int link = 0;
    int units = 0;
    double ends_s = 0, takes_s = 0;
    std::vector<SimulatedRequest*> owners;
    std::vector<PlannedSequence> planned;  ///< of a step
    std::vector<ChunkCut> cuts;            ///< of chunks
  };
  struct Place {
    bool steps = true, chunks = true;
    std::deque<SimulatedBatch> queue = {};  ///< the front one runs
    double free_s = 0;
  };

  void take_mail(double now);
  void promote();
  double places() const;
  Load load() const;
  bool dispatch(double now);
  bool fill(Place& place, double now);
  void look(const Place& place, double now);
  void look_at(SimulatedRequest& request, int slot, double now);
  int pages_wanted(const SimulatedRequest& request) const;
  double pipe_s(const SimulatedRequest& request) const;
  ChunkCut next_cut(const SimulatedRequest& request, size_t link, double slack_s) const;
  void lay_out_step(SimulatedBatch& batch);
  void lay_out_chunks(SimulatedBatch& batch, double now);
  double draw(const std::vector<double>& spread);
  void commit(SimulatedBatch& batch, double now);
  void commit_rows(SimulatedRequest& request, const PlannedSequence& ran);
  void commit_chunk(SimulatedRequest& request, size_t link, int fresh, double now);
  void close_lanes(SimulatedRequest& request, double now);
  void drop_cache(SimulatedRequest& request);
  bool make_room();
  void learn_capacity();
  void finish(SimulatedRequest& request, double now);

  const StepProfile& profile_;
  const SimulationOptions& options_;
  const Policy policy_;
  const bool realtime_, inline_run_;
  std::mt19937_64 random_;
  Sharing sharing_;

  std::deque<Place> places_;
  std::deque<std::pair<double, std::unique_ptr<SimulatedRequest>>> mail_;  ///< when it is ready
  std::deque<std::unique_ptr<SimulatedRequest>> waiting_;
  std::vector<std::unique_ptr<SimulatedRequest>> active_;
  double prompts_free_s_ = 0;
  uint64_t next_id_ = 1;
  int pages_free_ = 0, steps_in_flight_ = 0, in_flight_ = 0;
  Snapshot snapshot_;
  Plan plan_;
  Load load_;

  // What the engine learns.
  CostLearner step_cost_;
  std::vector<CostLearner> chunk_costs_;
  FirstChunk first_chunk_;
  std::vector<int> chunk_frames_;
  Rate chunk_rate_{1.0}, late_rate_{1.0};
  double mean_audio_s_ = 0, late_share_ = 0;
  PlaceLimit place_limit_;
  std::vector<double> totals_;  ///< units of every node
  double busy_s_ = 0;
  double audio_s_ = 0, capacity_ = 0;
  int64_t commits_ = 0;
};

}  // namespace syrinx
