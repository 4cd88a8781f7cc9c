// One accepted request inside the engine: a run of every node of its graph. Engine thread only,
// except that a batch in flight, or a host thread that prepares text, owns the Sequence.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "engine/engine.h"
#include "engine/kv_cache.h"
#include "engine/lane.h"
#include "engine/parts.h"
#include "engine/repetition.h"
#include "engine/resident.h"

namespace syrinx {

/// The cache of a sequence, or of its guidance companion.
struct HeldRows {
  KvHold cache;
  std::vector<uint64_t> keys;      ///< of rows of the current segment that may be shared
  bool published = false;          ///< its prompt is known to others
  uint64_t looked = ~uint64_t{0};  ///< KvCache::published() when a prefix was last looked for

  bool holds() const { return !cache.pages.empty(); }
};

/// What came for a sequence and waits: a client's text, or frames of another node.
struct Late {
  int port = -1;  ///< -1: the client's text
  std::string text = {};
  FrameType type = {};
  int64_t count = 0;
  std::vector<int32_t> ints = {};
  std::vector<float> floats = {};
  bool last = false;
};

/// An AR node's side of a request (CONTRACT.md, I1).
struct ArRun {
  std::unique_ptr<Sequence> sequence;
  std::array<HeldRows, 2> tracks;  ///< the second is the companion's
  bool guided = false;
  int common_rows = 0;       ///< leading prompt rows that the companion has in common
  int steps = 0;             ///< of the current segment
  uint32_t total_steps = 0;  ///< of the request
  uint32_t sound_steps =
      0;               ///< of those, steps whose code became audio, where the node also writes
  bool begun = false;  ///< the first segment
  bool open = true;
  bool drains = false;  ///< waits until the streams that it has ended are through
  FinishReason reason = FinishReason::kStop;
  RepetitionGuard guard;
  double draft_odds = 0.5;  ///< how often guesses have come true lately
  int told = 0;             ///< rows of the segment whose taps need not be told any more
  /// An older request that has this one's pages until it has run more than this; 0: none.
  RequestId gave_way_to = 0;
  int64_t gave_way_at = 0;
  bool stepping = false;   ///< in a batch
  bool preparing = false;  ///< with a host thread
  std::deque<Late> late;   ///< came meanwhile, oldest first

  bool away() const { return stepping || preparing; }
  bool holds() const { return tracks[0].holds() || tracks[1].holds(); }
  int64_t ran() const { return total_steps + tracks[0].cache.rows + tracks[1].cache.rows; }
  int rows_due() const { return sequence->prompt_rows() + steps - tracks[0].cache.rows; }
  /// Those of the companion, as far as the next step needs it; `codes` are sampled in a step.
  int companion_due(int codes) const;
};

/// Whether a sequence has a companion at all.
inline bool is_guided(const Sequence& sequence) { return sequence.guidance().value_or(1) != 1; }

/// A chunk node's side of a request, with the frames that wait for it.
struct ChunkRun {
  std::variant<Lane<int32_t>, Lane<float>> lane;
  std::unique_ptr<StreamState> stream;
  ChunkCut cut;  ///< that could be taken now, as of the last look
  bool running = false;

  ChunkRun(const ChunkPolicy& policy, const FrameType& in);

  /// Calls f with the lane, whatever its type.
  template <typename F>
  auto with_lane(F&& f) {
    return std::visit(f, lane);
  }
  bool through() {
    return !running && with_lane([](auto& l) { return l.exhausted(); });
  }
  bool closed() {
    return with_lane([](auto& l) { return l.closed(); });
  }
};

std::unique_ptr<ChunkRun> open_chunk_run(const ResidentNode& node, const Sequence& sequence);

/// One of the two, by the kind of the node; neither where the request does not open the node.
struct NodeRun {
  std::unique_ptr<ArRun> ar;
  std::unique_ptr<ChunkRun> chunk;
  bool ended = false;  ///< nothing more comes out of it

  bool opened() const { return ar || chunk; }
  bool in_flight() const { return (ar && ar->away()) || (chunk && chunk->running); }
};

struct Active {
  RequestId id = 0;
  uint64_t seed = 0;
  uint64_t client = 0;
  bool background = false;  ///< SpeechRequest::background
  ResidentModel* model = nullptr;
  std::shared_ptr<Sink> sink;  ///< null: it has ended
  std::vector<NodeRun> runs;   ///< as in the graph
  int first_frames = 0;        ///< wanted of the first chunk

  bool promoted = false;                          ///< has had a place
  std::unique_ptr<const SpeechRequest> unopened;  ///< its prompts are still to be made
  bool opening = false;                           ///< they are being made, by a host thread
  std::vector<Late> early;                        ///< text that came meanwhile

  // Pauses in the text
  std::unique_ptr<SpokenParts> parts;  ///< null: it is one
  bool between = false;                ///< a part has ended and the next one has not begun
  double part_began_s = 0;             ///< audio before the part
  int64_t frames_before = 0;           ///< of earlier parts

  // Delivery
  double submitted_s = 0;
  double promised_s = 0;       ///< it has a place within this time, or is refused
  double playing_since_s = 0;  ///< when the listener could start
  int chunks_delivered = 0;
  bool starved = false;     ///< since the last chunk there was a time with nothing to speak
  bool unread = false;      ///< paused: its reader has more than it takes
  bool alone = false;       ///< nobody else has been there since it came
  bool waited_for = false;  ///< its client let it wait for text
  double text_since_s = 0;  ///< when the reader of its text could start
  int64_t tokens_read = 0;  ///< written, as far as the client has them
  Outcome outcome;

  bool heard() const { return chunks_delivered > 0; }
  /// Whether its client hears it, reads it.
  bool speaks() const { return opens(model->graph().speaker()); }
  bool writes() const { return opens(model->graph().writer()); }
  bool opens(int node) const { return node != kClient && runs[node].opened(); }
  bool in_flight() const {
    if (opening) return true;
    for (const NodeRun& run : runs) {
      if (run.in_flight()) return true;
    }
    return false;
  }
  /// Seconds until the listener has played all that was delivered.
  double slack_s(double now) const { return playing_since_s + outcome.audio_s - now; }
  /// The same of the reader of its text.
  double text_slack_s(double now) const {
    return text_since_s + static_cast<double>(tokens_read) / kTokensReadASecond - now;
  }
};

/// The longest wait for a place that a request may have: a listener's, or a reader's.
double promised_wait_s(const ResidentModel& model, const SpeechRequest& request);

/// The record of a request that check_request() let pass; id and runs are still to come. Of one
/// that is spoken in parts, `unopened` is the first.
Result<std::unique_ptr<Active>> make_active(ResidentModel& model, const SpeechRequest& request,
                                            std::shared_ptr<Sink> sink, double now_s);
/// Makes the prompts of a request, and a run of every node. Any thread; may take long.
Result<std::vector<NodeRun>> open_runs(const ResidentModel& model, const SpeechRequest& request);
/// Both at once.
Result<std::unique_ptr<Active>> open_active(ResidentModel& model, const SpeechRequest& request,
                                            std::shared_ptr<Sink> sink, double now_s);

}  // namespace syrinx
