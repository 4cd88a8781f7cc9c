// Turn taking: finds when a speaker begins and ends a turn. A detector reports for every frame of
// 10 ms whether it contains a voice. Single reports may be wrong, so a turn begins with several
// voiced frames in a short time, and ends with a pause. Times are as in OpenAI's Realtime API:
// milliseconds from the first sample of all audio. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ears/melody.h"
#include "ears/voice_activity.h"

namespace syrinx {

/// Pause in ms after which a recogniser may transcribe the samples before it.
inline constexpr int kNoticedPauseMs = 100;

/// The settings of turn_detection with the type server_vad.
struct TurnRules {
  double threshold = 0.5;  ///< in [0, 1]; a higher value makes fewer frames count as voice
  int prefix_ms = 300;     ///< ms of audio before the voice that belong to the turn
  int silence_ms = 500;    ///< ms of pause that end the turn
  int noticed_ms = 0;      ///< ms of pause until kPaused, less than silence_ms; 0: never
  bool melody = false;     ///< whether fell() will be called
};

/// The beginning or the end of a turn, or of a pause within a turn. Times count from the first
/// sample.
struct TurnEvent {
  enum Kind { kStarted, kStopped, kPaused, kResumed };
  Kind kind = kStarted;
  /// kStarted: beginning of the turn with its prefix. kStopped: end of the turn with its pause.
  /// kPaused, kResumed: the time at which the detector noticed the event.
  int64_t at_ms = 0;
  bool operator==(const TurnEvent&) const = default;
};

/// Finds turns in samples as they arrive. One thread.
class TurnDetector {
 public:
  TurnDetector(std::unique_ptr<VoiceActivity> activity, const TurnRules& options);

  /// Processes any number of samples at kHearingRate, and appends the events found in them.
  void hear(std::span<const float> samples, std::vector<TurnEvent>& events);
  bool speaking() const { return speaking_; }
  /// Returns how long the speaker has been silent, in milliseconds; 0 outside a turn.
  int64_t pause_ms() const { return speaking_ ? (frames_ - last_voice_) * kFrameMs : 0; }
  /// Returns whether the pitch fell at the end of this turn's speech (Melody::fell()).
  bool fell() const { return melody_.fell(); }
  int64_t heard_ms() const { return frames_ * kFrameMs; }
  /// Returns the end of the last voice in this turn or, outside a turn, in the previous turn.
  int64_t last_voice_ms() const { return last_voice_ * kFrameMs; }
  /// Drops the current turn, because another part of the program has ended it.
  void reset();

 private:
  static constexpr int kFrameMs = 10;
  void hear_frame(std::vector<TurnEvent>& events);

  const std::unique_ptr<VoiceActivity> activity_;
  const TurnRules options_;
  std::vector<int16_t> frame_;
  Melody melody_;            // pitch of the turn
  std::deque<bool> recent_;  // whether each frame had a voice, newest last
  int64_t frames_ = 0;
  int64_t last_voice_ = 0;   // number of frames up to the last voiced frame, inclusive
  int64_t turn_end_ms_ = 0;  // end of the previous turn; the next turn begins after it
  bool speaking_ = false;
  bool paused_ = false;  // whether the latest pause event was kPaused
};

/// Returns the strictness of WebRTC's detector that corresponds to a threshold.
int strictness_of(double threshold);

}  // namespace syrinx
