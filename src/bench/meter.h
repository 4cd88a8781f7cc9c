// Measures one request as its client sees it. All times are seconds since the request was due, so
// that a generator that runs late makes figures worse and never better.
// One thread at a time; the thread that makes the request writes, the thread that asked for it
// reads after end().
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "bench/playback.h"

namespace syrinx {

/// Why a request did not end well.
enum class Failure {
  kNone,
  kConnect,   ///< no connection
  kStatus,    ///< an HTTP status other than 200, or the engine refused
  kProtocol,  ///< an answer that is not HTTP, or not the audio that was asked for
  kCut,       ///< the answer broke off
  kTimeout,
  kSilent,  ///< a good answer without a sample
  kSkipped  ///< not sent: too many were under way
};
/// "connect", "status", ...; static storage.
const char* failure_name(Failure failure);

/// When what of a request came. Times are seconds.
struct RequestRecord {
  double due_s = 0;                     ///< since the run began
  double lag_s = 0;                     ///< from due to sent: the generator's own fault
  double total_s = 0;                   ///< from due to the end
  std::optional<double> first_byte_s;   ///< status line and headers are here
  std::optional<double> first_audio_s;  ///< the first sample that can be played
  std::optional<double> audible_s;      ///< a player that starts at first_audio_s is heard
  double silence_s = 0;                 ///< of leading audio below the threshold
  PlaybackFigures playback;
  Failure failure = Failure::kNone;
  int status = 0;      ///< of HTTP; 0: none came
  std::string detail;  ///< of the failure, in one line
  size_t text_bytes = 0;
  bool warmup = false;  ///< not to be counted

  bool ok() const { return failure == Failure::kNone; }
  double rtf() const { return playback.audio_s > 0 ? total_s / playback.audio_s : 0; }
};

/// The measured times of one request.
class Meter {
 public:
  /// `due_s`, `run_began_s` on the clock of now_s(); samples of at least `audible_level` in (0, 1]
  /// are heard.
  Meter(double due_s, double run_began_s, double audible_level);

  void sent(double now);
  void first_byte(double now);
  /// Samples at `rate_hz` arrived.
  void audio(double now, std::span<const int16_t> samples, int rate_hz);
  void audio(double now, std::span<const float> samples, int rate_hz);
  /// The last call. A good end without audio becomes kSilent.
  void end(double now, Failure failure = Failure::kNone, std::string detail = "", int status = 0);

  const RequestRecord& record() const { return record_; }
  RequestRecord& record() { return record_; }
  /// When the listener has heard all, on the clock of now_s().
  double heard_until() const { return due_s_ + playback_.ends_s(); }

 private:
  template <typename Sample>
  void take(double now, std::span<const Sample> samples, int rate_hz, double full_scale);

  const double due_s_, audible_level_;
  Playback playback_;
  RequestRecord record_;
};

}  // namespace syrinx
