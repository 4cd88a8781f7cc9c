// One accepted request inside the engine. Engine thread only, except that an AR batch in flight
// owns the Sequence.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "engine/kv_cache.h"
#include "engine/lane.h"
#include "engine/repetition.h"

namespace syrinx {

/// The cache of a request's sequence, or of its guidance companion.
struct Track {
  KvHold cache;
  std::vector<uint64_t> keys;      ///< of the prompt's rows, of the current segment
  bool published = false;          ///< its prompt is known to others
  uint64_t looked = ~uint64_t{0};  ///< KvCache::published() when a prefix was last looked for
};

struct Active {
  RequestId id = 0;
  uint64_t seed = 0;
  uint64_t client = 0;
  std::shared_ptr<Sink> sink;  ///< null: it has ended
  std::unique_ptr<Sequence> state;

  // AR stage (CONTRACT.md, I1)
  std::array<Track, 2> tracks;  ///< the second is the companion's
  bool guided = false;
  float scale = 1;           ///< of the guidance
  int common_rows = 0;       ///< leading prompt rows that the companion has in common
  int steps = 0;             ///< of the current segment
  uint32_t total_steps = 0;  ///< of the request
  bool ar_open = true;
  FinishReason reason = FinishReason::kStop;
  RepetitionGuard guard;

  // Chunk stages: lane i feeds link i
  Lane<int32_t> codes;
  std::vector<Lane<float>> values;  ///< lanes 1 ..
  std::vector<std::unique_ptr<StreamState>> streams;
  int first_frames = 0;  ///< wanted of the first chunk

  // Batches in flight
  bool stepping = false;
  uint32_t chunking = 0;  ///< bit i: a chunk of link i
  struct LateText {
    std::string text;
    bool last = false;
  };
  std::vector<LateText> late;  ///< came while the state was away

  // Delivery
  double submitted_s = 0;
  double playing_since_s = 0;  ///< when the listener could start
  int chunks_delivered = 0;
  bool starved = false;  ///< since the last chunk there was a time without text to speak
  Outcome outcome;

  Active(ChunkPolicy policy, int width) : codes(policy, width) {}

  bool started() const { return chunks_delivered > 0; }
  bool in_flight() const { return stepping || chunking != 0; }
  bool chunk_in_flight(size_t link) const { return (chunking >> link & 1) != 0; }
  int rows_due() const { return state->prompt_rows() + steps - tracks[0].cache.rows; }
  int companion_due() const {
    return guided ? state->companion_rows() + steps - tracks[1].cache.rows : 0;
  }
  /// Seconds until the listener has played all that was delivered.
  double slack_s(double now) const { return playing_since_s + outcome.audio_s - now; }

  /// Calls f with lane `link`.
  template <typename F>
  auto with_lane(size_t link, F&& f) {
    return link == 0 ? f(codes) : f(values[link - 1]);
  }
};

}  // namespace syrinx
