// Turn taking: finds when a speaker begins a turn and ends it. A detector reports for every 10 ms
// whether there is a voice, and errs in single frames. So a turn begins with enough voiced frames
// in a short time and ends with a pause. Times are as in OpenAI's Realtime API: milliseconds from
// the first sample of all audio. One thread at a time.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "ears/melody.h"
#include "ears/voice_activity.h"

namespace syrinx {

/// turn_detection of type server_vad.
struct TurnRules {
  double threshold = 0.5;  ///< in [0, 1]; higher: fewer frames count as voice
  int prefix_ms = 300;     ///< audio before the voice that belongs to the turn, in ms
  int silence_ms = 500;    ///< pause that ends the turn, in ms
  int noticed_ms = 0;      ///< pause that is reported (kPaused), < silence_ms; 0: never
  bool melody = false;     ///< whether fell() will be called
};

/// A turn's beginning or its end, or a pause in it that began or ended without the turn's end.
/// Times count from the first sample.
struct TurnEvent {
  enum Kind { kStarted, kStopped, kPaused, kResumed };
  Kind kind = kStarted;
  /// kStarted: beginning of the turn, prefix included. kStopped: end of the turn, pause included.
  /// kPaused, kResumed: when the detector noticed the event.
  int64_t at_ms = 0;
  bool operator==(const TurnEvent&) const = default;
};

/// Finds turns in samples as they come. One thread.
class TurnDetector {
 public:
  TurnDetector(std::unique_ptr<VoiceActivity> activity, const TurnRules& options);

  /// Takes samples at kHearingRate, any number at a time; appends the events found in them.
  void hear(std::span<const float> samples, std::vector<TurnEvent>& events);
  bool speaking() const { return speaking_; }
  /// Returns how long the speaker has been silent, in milliseconds; 0 outside a turn.
  int64_t pause_ms() const { return speaking_ ? (frames_ - last_voice_) * kFrameMs : 0; }
  /// Returns whether the pitch fell at the end of this turn's speech (Melody::fell()).
  bool fell() const { return melody_.fell(); }
  int64_t heard_ms() const { return frames_ * kFrameMs; }
  /// Returns the end of the last voice in this turn, or in the previous turn.
  int64_t last_voice_ms() const { return last_voice_ * kFrameMs; }
  /// Drops the current turn, which another part of the program has ended.
  void reset();

 private:
  static constexpr int kFrameMs = 10;
  void hear_frame(std::vector<TurnEvent>& events);

  const std::unique_ptr<VoiceActivity> activity_;
  const TurnRules options_;
  std::vector<int16_t> frame_;
  Melody melody_;            // of the turn
  std::deque<bool> recent_;  // whether there was a voice, newest last
  int64_t frames_ = 0;
  int64_t last_voice_ = 0;   // frames up to and including the last voiced frame
  int64_t turn_end_ms_ = 0;  // end of the previous turn; the next turn begins after it
  bool speaking_ = false;
  bool paused_ = false;  // the latest pause event was kPaused
};

/// Returns the strictness of WebRTC's detector for a threshold.
int strictness_of(double threshold);

}  // namespace syrinx
