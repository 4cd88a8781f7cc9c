// Models the playback of one stream: the player starts with the first sample, plays in real
// time and waits when it has no samples. Uses times and durations only. Plain data, one
// thread.
//
//   underrun    a chunk arrived after the player had run dry; the player waits and continues there
//               (SGLang-Omni's audio_underrun_s is the longest underrun)
//   stall       the sum of all waits of a stream: the head start that would have prevented them
//               (vLLM-Omni's audio_underrun)
//   viable      chunk i + 1 arrived before a player that never waits had played the chunks up to i:
//               equation 2 of the VoxServe paper, as its benchmark/goodput.py counts it
#pragma once

#include <cstdint>

namespace syrinx {

/// Pieces that arrive within this time are one chunk, because TCP may cut anywhere.
inline constexpr double kSameChunk_s = 0.001;

/// The quality of a stream for a player that starts with the first sample.
struct PlaybackFigures {
  int chunks = 0;
  int viable_chunks = 0;  ///< viable chunks after the first one
  int underruns = 0;
  double max_underrun_s = 0;
  double stall_s = 0;
  double audio_s = 0;

  bool viable() const { return underruns == 0; }
};

/// The player of one stream. Counts waits and their seconds.
class Playback {
 public:
  /// Records that audio of `audio_s` > 0 arrived at `at_s` (any fixed origin; never decreases).
  /// Returns when the first sample of this audio is played.
  double arrive(double at_s, double audio_s);

  const PlaybackFigures& figures() const { return figures_; }
  /// Returns when all audio that has arrived has been played; 0 before the first audio.
  double ends_s() const { return ends_s_; }

 private:
  PlaybackFigures figures_;
  double chunk_began_s_ = 0;  // arrival of the current chunk's first piece
  double ends_s_ = 0;
};

}  // namespace syrinx
