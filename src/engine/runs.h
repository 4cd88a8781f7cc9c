// The state of one request at each node of its graph: a sequence with its rows in the cache, or a
// stream with the frames that wait for it. Engine thread only, with one exception: a batch in
// flight, or a host thread that prepares text, may use the Sequence.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "engine/kv_cache.h"
#include "engine/lane.h"
#include "engine/repetition.h"
#include "model/pipeline.h"

namespace syrinx {

/// Rows of a sequence and of its companion that may run now.
struct Due {
  int rows = 0, companion_rows = 0;
  bool none() const { return rows + companion_rows == 0; }
};

/// The cached rows of a sequence, or of its guidance companion.
struct HeldRows {
  KvHold cache;
  std::vector<uint64_t> keys;      ///< prefix keys of the rows of the current segment
  bool published = false;          ///< other sequences may share its prompt rows
  uint64_t looked = ~uint64_t{0};  ///< KvCache::published() at the last search for a prefix

  bool holds() const { return !cache.pages.empty(); }
};

/// An input that waits for a sequence: text of the client, or frames of another node.
struct Late {
  int port = -1;  ///< port that receives the input; -1: the client's text
  std::string text = {};
  FrameType type = {};
  int64_t count = 0;
  std::vector<int32_t> ints = {};
  std::vector<float> floats = {};
  bool last = false;
};

/// The state of a request at an AR node (CONTRACT.md, I1).
struct ArRun {
  std::unique_ptr<Sequence> sequence;
  int codes = 1;                   ///< codes that a step samples
  std::array<HeldRows, 2> tracks;  ///< [0]: the sequence, [1]: its companion
  bool guided = false;
  int common_rows = 0;       ///< number of first rows in which both prompts are equal
  int steps = 0;             ///< steps in the current segment
  uint32_t total_steps = 0;  ///< steps in the whole request
  uint32_t sound_steps = 0;  ///< steps that made audio, if the node also writes text
  bool begun = false;        ///< the first segment has begun
  bool open = true;
  bool drains = false;  ///< no step until the streams that the sequence has ended are finished
  FinishReason reason = FinishReason::kStop;
  RepetitionGuard guard;
  double draft_odds = 0.5;  ///< share of recent guesses that were right
  int tapped = 0;           ///< rows of the segment whose taps were passed on
  bool stepping = false;    ///< a batch has the sequence
  bool preparing = false;   ///< a host thread has the sequence
  std::deque<Late> late;    ///< inputs that came while a batch or host thread used it
  int64_t unused = 0;       ///< Sequence::unused_frames() when the engine last had the sequence

  bool remote() const { return stepping || preparing; }
  bool holds() const { return tracks[0].holds() || tracks[1].holds(); }
  int64_t ran() const { return total_steps + tracks[0].cache.rows + tracks[1].cache.rows; }
  int rows_due() const { return sequence->prompt_rows() + steps - tracks[0].cache.rows; }
  /// Returns the number of companion rows that the next step needs.
  int companion_due() const;
  /// Returns whether the sequence can take its next step without further text.
  bool may_step() const { return begun && !drains && sequence->ready(); }
  /// Returns the rows that may run now. If both prompts have a common beginning, the companion
  /// waits until this beginning is cached, then shares it.
  Due due() const;
  /// Returns how many frames from other nodes no step has used yet.
  int64_t waiting() const;
  /// Returns the number of tracks in use: 2 with guidance, else 1.
  int track_count() const { return guided ? 2 : 1; }
};

/// Returns whether a sequence has a companion.
inline bool is_guided(const Sequence& sequence) { return sequence.guidance().value_or(1) != 1; }

/// The state of a request at a chunk node, with the frames that wait for it.
struct ChunkRun {
  Lane lane;
  std::unique_ptr<StreamState> stream = nullptr;
  /// kept: receives the stream at its end; null: no turn continues it
  std::shared_ptr<KeptStream> kept = nullptr;
  ChunkCut cut = {};  ///< the chunk that could run at the last snapshot
  bool running = false;

  /// Returns whether all frames have run.
  bool through() const { return !running && lane.exhausted(); }
};

/// Makes the run of a chunk stage that is fed under `policy`. Its stream is opened for `sequence`,
/// or continues that of `kept`.
std::unique_ptr<ChunkRun> open_chunk_run(const ChunkStage& stage, const ChunkPolicy& policy,
                                         const Sequence& sequence,
                                         std::shared_ptr<KeptStream> kept = {});

/// The state of a request at one node: `ar` for an AR node, `chunk` for a chunk node. Both are null
/// if the request does not use the node.
struct NodeRun {
  std::unique_ptr<ArRun> ar;
  std::unique_ptr<ChunkRun> chunk;
  bool ended = false;  ///< the node's output is complete

  bool opened() const { return ar || chunk; }
  /// Returns whether the node runs, or could run with its waiting frames. The answer for a chunk
  /// node dates from the last snapshot. A node whose output is complete takes no more frames.
  bool may_go_on() const {
    if (ended) return false;
    if (ar) return ar->open && (ar->remote() || ar->may_step());
    return chunk && (chunk->running || chunk->cut.fresh > 0);
  }
  /// Returns how many frames wait in the edges to the node.
  int64_t waiting() const { return ar ? ar->waiting() : chunk->lane.waiting(); }
  bool in_flight() const { return (ar && ar->remote()) || (chunk && chunk->running); }
};

}  // namespace syrinx
