// One accepted request inside the engine: its side of every node of its graph (NodeRun), and its
// client. Engine thread only.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/output.h"
#include "engine/parts.h"
#include "engine/resident.h"
#include "engine/runs.h"

namespace syrinx {

struct Active {
  Active(ResidentModel& model, const SpeechRequest& request, std::shared_ptr<Sink> sink,
         double now_s);

  RequestId id = 0;
  const uint64_t seed;
  const uint64_t client;
  ResidentModel* const model;
  const double promised_s;    ///< longest wait for a seat; then the request is refused
  bool promoted = false;      ///< the request has had a seat
  std::vector<NodeRun> runs;  ///< in the order of the graph's nodes
  Output output;

  std::unique_ptr<const SpeechRequest> unopened;  ///< kept until its prompts are made
  bool opening = false;                           ///< a host thread makes the prompts now
  std::vector<Late> early;  ///< text and samples that came while the prompts were made

  // Only for a text that is spoken in parts.
  std::unique_ptr<SpokenParts> parts;  ///< null: the text has one part
  bool between = false;                ///< a part has ended and the next one has not begun
  int64_t frames_before = 0;           ///< frames of earlier parts and streams

  /// False: the request has ended.
  bool live() const { return output.open(); }
  bool background() const { return output.background(); }
  /// speaks(): whether the client hears audio. writes(): whether it reads text.
  bool speaks() const { return opens(model->graph().speaker()); }
  bool writes() const { return opens(model->graph().writer()); }
  bool opens(int node) const { return node != kClient && runs[node].opened(); }
  bool in_flight() const;
  /// Returns the frames of the current part that the first link has received.
  int64_t frames();
  /// Returns the seconds until the listener runs dry, if the frames that wait for chunk nodes are
  /// delivered in time.
  double slack_s(double now);
  /// Begins a segment of the sequence of a node.
  void begin_segment(int node);
  /// Begins the first segment of each sequence that no batch and no host thread uses.
  void begin_segments();
  /// Returns to the caches the pages of its sequences that are in no batch.
  void release_pages();
};

/// Returns the longest wait for a seat that is promised to a request: longer if the output is only
/// read.
double promised_wait_s(const ResidentModel& model, const SpeechRequest& request);

/// Makes the Active of a request that check_request() accepted; the caller sets id and runs. For a
/// request that is spoken in parts, `unopened` is the first part.
Result<std::unique_ptr<Active>> make_active(ResidentModel& model, const SpeechRequest& request,
                                            std::shared_ptr<Sink> sink, double now_s);
/// Makes the prompts of a request, and its side of every node. Any thread; may take long.
Result<std::vector<NodeRun>> open_runs(const ResidentModel& model, const SpeechRequest& request);
/// Calls make_active() and open_runs().
Result<std::unique_ptr<Active>> open_active(ResidentModel& model, const SpeechRequest& request,
                                            std::shared_ptr<Sink> sink, double now_s);

}  // namespace syrinx
