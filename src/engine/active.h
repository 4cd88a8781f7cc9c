// An accepted request inside the engine: its state at every node of its graph (NodeRun), and the
// output to its client. Engine thread only.
#pragma once

#include <memory>
#include <vector>

#include "engine/engine.h"
#include "engine/output.h"
#include "engine/resident.h"
#include "engine/runs.h"
#include "model/spoken_parts.h"

namespace syrinx {

struct Active {
  Active(ResidentModel& model, const SpeechRequest& request, std::shared_ptr<Sink> sink,
         double now_s);

  std::shared_ptr<void> place;  ///< its end reports the end of this record to the admission
  RequestId id = 0;
  const uint64_t seed;
  const uint64_t client;
  ResidentModel* const model;
  const double promised_s;    ///< longest wait for a seat; then the request is refused
  bool promoted = false;      ///< the request has received a seat
  std::vector<NodeRun> runs;  ///< in the order of the graph's nodes
  Output output;

  std::unique_ptr<const SpeechRequest> unopened;  ///< the request, kept until its prompts are made
  bool opening = false;                           ///< a host thread is making the prompts
  std::vector<Late> early;  ///< text and samples that arrived while the prompts were made

  // The fields below are used only for a text that is spoken in parts.
  std::unique_ptr<SpokenParts> parts;  ///< null: the text is one part
  bool between = false;                ///< a part has ended and the next one has not begun
  int64_t frames_before = 0;           ///< frames of earlier parts and earlier streams
  std::optional<Error> unspoken = {};  ///< the error of a part of words that was left out

  /// Returns whether the request has not ended.
  bool live() const { return output.open(); }
  bool background() const { return output.background(); }
  /// speaks(): whether the request produces audio. writes(): whether it produces text.
  bool speaks() const { return opens(model->graph().speaker()); }
  bool writes() const { return opens(model->graph().writer()); }
  bool opens(int node) const { return node != kClient && runs[node].opened(); }
  bool in_flight() const;
  /// Records that no batch has the state of the request at this node any longer.
  void leave_batch(int node);
  /// Returns how many frames of the current part the node ResidentModel::first_link was given.
  int64_t frames();
  /// Returns the seconds until the listener has played all audio. Assumes that the frames which
  /// wait for chunk nodes are delivered in time.
  double slack_s(double now);
  /// Ends a part in which the model finds nothing to speak, as `error` says: a short silence stands
  /// for signs, nothing for words. `text`: the text of a request without parts. Returns false if
  /// the request must fail with the error.
  bool stays_silent(std::string_view text, const Error& error);
  /// Begins a segment of the sequence of node number `node`.
  void begin_segment(int node);
  /// Begins the first segment of each sequence that no batch and no host thread uses.
  void begin_segments();
  /// Returns to the caches the pages of the request's sequences that no batch uses.
  void release_pages();
};

/// Returns the longest wait for a seat that a request is promised. The wait is longer for a request
/// whose output is only read.
double promised_wait_s(const ResidentModel& model, const SpeechRequest& request);

/// Makes the Active of a request that check_request() accepted; the caller sets id. `unopened` is
/// the request, or its first part. It is null if the request begins with silence.
Result<std::unique_ptr<Active>> make_active(ResidentModel& model, SpeechRequest request,
                                            std::shared_ptr<Sink> sink, double now_s);
/// Makes the prompts of a request, and its NodeRun for every node. Any thread; may be slow.
Result<std::vector<NodeRun>> open_runs(const ResidentModel& model, const SpeechRequest& request);
/// Calls make_active() and open_runs().
Result<std::unique_ptr<Active>> open_active(ResidentModel& model, SpeechRequest request,
                                            std::shared_ptr<Sink> sink, double now_s);

}  // namespace syrinx
