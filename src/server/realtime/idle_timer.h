// Measures the user's silence after an answer. After `idle_timeout_ms` of silence, the session
// answers again. All times are in ms of the audio that the client has sent. The timer assumes that
// the client plays an answer as soon as it receives the first audio of it. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace syrinx {

class IdleTimer {
 public:
  /// Records that another `audio_s` seconds of an answer were sent.
  void sounded(int64_t now_ms, double audio_s) {
    played_ms_ = std::max(played_ms_, static_cast<double>(now_ms)) + 1000 * audio_s;
  }
  /// Records that playback has stopped.
  void silenced(int64_t now_ms) { played_ms_ = std::min(played_ms_, static_cast<double>(now_ms)); }
  /// Records that an answer has ended.
  void answered(int64_t now_ms) {
    answered_ = true;
    stirred(now_ms);
  }
  /// Records that the user speaks at now_ms.
  void stirred(int64_t now_ms) { from_ms_ = now_ms; }

  /// Returns the time at which the silence began; nothing before the first answer.
  std::optional<int64_t> since() const {
    if (!answered_) return std::nullopt;
    return std::max(from_ms_, static_cast<int64_t>(played_ms_));
  }

 private:
  bool answered_ = false;
  int64_t from_ms_ = 0;
  double played_ms_ = 0;
};

}  // namespace syrinx
