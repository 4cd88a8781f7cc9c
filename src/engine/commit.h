// Applies the results of a batch to its requests. Only Committer and Edges change what a request
// has computed. Engine thread only.
//
// Invariants (CONTRACT.md, I1, I5, I8):
// - results are keyed by request, never by the row's position in the batch;
// - a request that has ended since the batch began gets no results, and its pages are released;
// - a fault of the whole batch fails all of its requests; a fault of one request fails only that
// one.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/edges.h"

namespace syrinx {

class Committer {
 public:
  /// All arguments must outlive the Committer.
  Committer(const Platform& clock, Roster& roster, Edges& edges)
      : clock_(clock), roster_(roster), edges_(edges) {}

  void commit(Batch& batch);

 private:
  /// The results of a batch that belong to one request.
  struct Brought {
    std::span<const StepSequence> ran;  ///< the batch's entries for the sequence and its companion
    const Error* fault = nullptr;
    std::span<const float> taps = {};
    int result = -1;  ///< index of the sequence's first step in the batch's results; -1: no step
    std::span<const int32_t> guesses = {};
  };

  void commit_steps(Batch& batch);
  void commit_chunks(Batch& batch);
  void commit_sequence(Active& request, const Batch& batch, const Brought& brought);
  void take_steps(Active& request, const Batch& batch, const Brought& brought);
  void pass_taps(Active& request, int node, const StepSequence& ran, std::span<const float> taps);
  void advance(Active& request, int node, std::span<const int32_t> codes,
               std::span<const float> values, const StepScores* scores);
  void go_on(Active& request, int node, const Verdict& verdict);
  void end_steps(Active& request, int node, FinishReason reason);

  const Platform& clock_;
  Roster& roster_;
  Edges& edges_;
  std::vector<int32_t> codes_;  ///< scratch: the codes of a step's frames
  std::vector<float> rows_;     ///< scratch: rows of a step, or tapped rows
};

}  // namespace syrinx
