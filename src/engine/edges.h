// Moves frames, text and ends along the edges of a request's graph: from the client, from node to
// node, and to the client. Engine thread only.
//
// Invariants (CONTRACT.md, I6, I16):
// - inputs wait, in order, while a batch or a host thread has their sequence;
// - the end of a node is passed on once, after all of the node's output;
// - a request ends when all edges to its client have ended, and no part of its text is left.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "engine/platform.h"
#include "engine/roster.h"

namespace syrinx {

class Edges {
 public:
  /// Both arguments must outlive the Edges.
  Edges(Platform& platform, Roster& roster) : platform_(platform), roster_(roster) {}

  int jobs_in_flight() const { return jobs_; }  ///< returns the number of unfinished host jobs

  /// Sends a request to a host thread, which makes its prompts.
  void open(Active& request, std::unique_ptr<const SpeechRequest> unopened);
  /// Adds a client's late text, or its samples (Flow::kSamples) for the chunk node that it feeds.
  void append(Active& request, Late late);
  /// Applies the prompts or text that a host thread has prepared.
  void commit(std::unique_ptr<HostJob> job);
  /// After the end of a part, sends the silence that follows it and begins the next part.
  void next_part(Active& request);

  /// Passes an input to a sequence. While a batch or a host thread has the sequence, the input is
  /// kept until the sequence is back.
  void give(Active& request, int node, Late late);
  /// Passes the kept inputs to an open sequence that no batch or host thread has: frames directly,
  /// text through a host thread.
  void give_waiting(Active& request, int node);
  /// Passes frames of a node's output along each of its edges that carries `flow`. The flow decides
  /// which of the two spans has elements.
  void pass(Active& request, int node, Flow flow, std::span<const int32_t> ints,
            std::span<const float> floats);
  /// Ends the streams that the node feeds. The node takes no step until they have finished.
  void end_streams(Active& request, int node);
  /// Passes on the ends of nodes; ends the request when the edges to its client have ended.
  void close(Active& request);

 private:
  void prepare(std::unique_ptr<HostJob> job);
  void accept(Active& request, Late late);
  void take_samples(Active& request, const Late& late);
  void commit_opened(Active& request, HostJob& job);
  void begin_streams(Active& request, int node);
  void end_node(Active& request, int node);
  void take_frames(Active& request, int node, const Late& late);
  bool check_fit(Active& request, int node);

  Platform& platform_;
  Roster& roster_;
  int jobs_ = 0;
};

}  // namespace syrinx
