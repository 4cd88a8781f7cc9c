// One accepted request inside the engine: a run of every node of its graph, and its client. Engine
// thread only.
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
  const double promised_s;    ///< the request has a seat within this time, or is refused
  bool promoted = false;      ///< it has had a seat
  std::vector<NodeRun> runs;  ///< as in the graph
  Output output;

  std::unique_ptr<const SpeechRequest> unopened;  ///< set until its prompts are made
  bool opening = false;                           ///< a host thread makes the prompts now
  std::vector<Late> early;                        ///< text that came while the prompts were made

  // Pauses in the text
  std::unique_ptr<SpokenParts> parts;  ///< null: the text has one part
  bool between = false;                ///< a part has ended and the next one has not begun
  int64_t frames_before = 0;           ///< of earlier parts and streams

  /// False: the request has ended.
  bool live() const { return output.open(); }
  bool background() const { return output.background(); }
  /// Whether its client hears audio, or reads text.
  bool speaks() const { return opens(model->graph().speaker()); }
  bool writes() const { return opens(model->graph().writer()); }
  bool opens(int node) const { return node != kClient && runs[node].opened(); }
  bool in_flight() const;
  /// Frames that the current part has given to the first link so far.
  int64_t frames();
  /// Seconds of audio that its listener and the frames waiting for chunk nodes have.
  double slack_s(double now);
  /// Begins a segment of the sequence of a node.
  void begin_segment(int node);
  /// Begins the first segments of those of its sequences that run in this process.
  void begin_segments();
  /// Returns the pages of its sequences that are in no batch.
  void release_pages();
};

/// The longest wait for a seat that a request may have: a listener's, or a reader's.
double promised_wait_s(const ResidentModel& model, const SpeechRequest& request);

/// Makes the record of a request that check_request() accepted; the caller sets id and runs. For a
/// request that is spoken in parts, `unopened` is the first part.
Result<std::unique_ptr<Active>> make_active(ResidentModel& model, const SpeechRequest& request,
                                            std::shared_ptr<Sink> sink, double now_s);
/// Makes the prompts of a request, and a run of every node. Any thread; may take long.
Result<std::vector<NodeRun>> open_runs(const ResidentModel& model, const SpeechRequest& request);
/// Calls both.
Result<std::unique_ptr<Active>> open_active(ResidentModel& model, const SpeechRequest& request,
                                            std::shared_ptr<Sink> sink, double now_s);

}  // namespace syrinx
