// Turn taking: when a speaker began, and when they are done. A detector says for every 10
// ms whether there is a voice; it errs for a frame now and then, so a turn begins with enough voice
// in a short while and ends with a pause. Times are those of OpenAI's Realtime API, in milliseconds
// of all audio that was heard. One thread at a time.
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
  double threshold = 0.5;  ///< [0, 1]: the higher, the surer a voice must be
  int prefix_ms = 300;     ///< of what was heard before the voice began that belong to the turn
  int silence_ms = 500;    ///< a pause that ends it
  int noticed_ms = 0;      ///< a pause that is reported, shorter than that; 0: none is
  bool melody = false;     ///< whether fell() is wanted
};

/// A turn's beginning or its end, or a pause in it that began or ended without the turn's end.
/// Times count from the first sample.
struct TurnEvent {
  enum Kind { kStarted, kStopped, kPaused, kResumed };
  Kind kind = kStarted;
  /// kStarted: where the turn begins, prefix and all. kStopped: where it ends, with the pause.
  /// Others: where that was noticed.
  int64_t at_ms = 0;
  bool operator==(const TurnEvent&) const = default;
};

/// Finds turns in samples as they come. One thread.
class TurnDetector {
 public:
  TurnDetector(std::unique_ptr<VoiceActivity> activity, const TurnRules& options);

  /// Appends what is found; samples at kHearingRate, any number at a time.
  void hear(std::span<const float> samples, std::vector<TurnEvent>& events);
  bool speaking() const { return speaking_; }
  /// How long the speaker has been silent, in seconds.
  int64_t pause_ms() const { return speaking_ ? (frames_ - last_voice_) * kFrameMs : 0; }
  /// Whether the pitch fell at the end of what was said in this turn (Melody::fell()).
  bool fell() const { return melody_.fell(); }
  int64_t heard_ms() const { return frames_ * kFrameMs; }
  /// End of the last voice of the turn, or of the one before.
  int64_t last_voice_ms() const { return last_voice_ * kFrameMs; }
  /// Forgets a turn that is going on: another part of the program ended it.
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
  int64_t last_voice_ = 0;   // frames up to the end of the last one with a voice
  int64_t turn_end_ms_ = 0;  // of the turn before: no turn begins in another
  bool speaking_ = false;
  bool paused_ = false;  // kPaused was reported last
};

/// The strictness of WebRTC's detector that stands for a threshold.
int strictness_of(double threshold);

}  // namespace syrinx
