// Measures the silence after an answer; if it lasts too long, another answer is due
// (`idle_timeout_ms`). Like all times of a session, it counts audio that the client sends. The
// client is assumed to play an answer from its first audio on. Plain value, ms.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace syrinx {

class IdleTimer {
 public:
  /// Notes that another `audio_s` seconds of an answer were sent.
  void sounded(int64_t now_ms, double audio_s) {
    played_ms_ = std::max(played_ms_, static_cast<double>(now_ms)) + 1000 * audio_s;
  }
  /// Notes that playback has stopped.
  void silenced(int64_t now_ms) { played_ms_ = std::min(played_ms_, static_cast<double>(now_ms)); }
  /// Notes that an answer has ended.
  void answered(int64_t now_ms) {
    answered_ = true;
    stirred(now_ms);
  }
  /// Notes that a voice was heard until now.
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
