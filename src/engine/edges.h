// Moves frames and text along the edges of a request's graph: from node to node, to the client,
// text from the client, and the end of each. Engine thread only.
//
// Invariants (CONTRACT.md, I6, I16):
// - inputs for a sequence that a batch or a host thread holds wait for it, in order;
// - the end of a node is passed on once, after everything that the node has sent;
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
  /// Both outlive it.
  Edges(Platform& platform, Roster& roster) : platform_(platform), roster_(roster) {}

  int jobs_in_flight() const { return jobs_; }  ///< with host threads

  /// Has a host thread make the prompts of a request.
  void open(Active& request, std::unique_ptr<const SpeechRequest> unopened);
  void append_text(Active& request, std::string text, bool last);
  /// Takes the prompts or text that a host thread has prepared.
  void commit(std::unique_ptr<HostJob> job);
  /// Continues after a part that has ended: sends silence, and begins the next part.
  void next_part(Active& request);

  /// Hands an input to a sequence, or keeps it until the sequence is back.
  void give(Active& request, int node, Late late);
  /// Passes on the inputs that wait for a sequence that is in this process and goes on: frames at
  /// once, text by way of a host thread.
  void give_waiting(Active& request, int node);
  /// Passes `count` frames that a chunk node made along its edge.
  void pass_on(Active& request, int node, std::span<const float> values, int64_t count);
  /// Ends the streams that the node feeds; it takes no step until they are through.
  void end_streams(Active& request, int node);
  /// Passes the ends of nodes on; ends the request when the edges to its client have ended.
  void close(Active& request);

 private:
  void prepare(std::unique_ptr<HostJob> job);
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
